"""Installs missing packages: only from pinned files, not from a repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from llm_fleet_node.downloads import fetch_files, find, is_version
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.manifest_parts import Download
from llm_fleet_node.node import Node
from llm_fleet_node.package_managers import PackageManager, manager_of


def is_installed(host: Host, name: str) -> bool:
    """Return whether the package `name` is completely installed."""
    return installed_version(host, name) is not None


def installed_version(host: Host, name: str) -> Optional[str]:
    """Return the version of the installed package `name`, in the package manager's format; `None` if missing."""
    return installed_versions(host, [name]).get(name)


def installed_versions(host: Host, names: Sequence[str]) -> dict[str, str]:
    """Return the versions of the installed packages among `names`, with one query."""
    return manager_of(host).versions(names)


def repair(host: Host) -> None:
    """Complete an interrupted installation; wait for a running one. Raises `Failure`."""
    manager_of(host).repair()


def held(host: Host) -> set[str]:
    """Return the packages that a system upgrade does not change."""
    return manager_of(host).held()


def install(node: Node, names: Sequence[str], *, hold: bool = False) -> None:
    """Install the packages `names`, also `name=version`, if missing. `hold`: exclude them from system upgrades.

    Missing packages come with their dependencies from the manifest's downloads. Raises `Failure`: LFN85 if downloads
    are off, LFN86 if a package is not pinned, LFN87 to LFN90 if a download fails, LFN91 and LFN92 if the package
    manager fails.
    """
    manager = manager_of(node.host)
    missing = _missing(manager, names)
    if missing:
        manager.repair()
        missing = _missing(manager, names)
    if missing:
        _install_missing(node, manager, missing)
        left = _missing(manager, names)
        if left:
            fail(Code.PACKAGES_BROKEN, f"{', '.join(left)}: not installed, although the package manager succeeded")
    if hold:
        manager.hold([name.partition("=")[0] for name in names])


def _missing(manager: PackageManager, names: Sequence[str]) -> list[str]:
    wanted = [(name, *name.partition("=")[::2]) for name in names]
    found = manager.versions([package for _, package, _ in wanted])
    return [
        name for name, package, version in wanted if package not in found or not is_version(found[package], version)
    ]


def _install_missing(node: Node, manager: PackageManager, names: Sequence[str]) -> None:
    named = [find(node, package, version=version) for package, _, version in (name.partition("=") for name in names)]
    rest = _dependencies(node, named)
    had = manager.versions([file.name for file in rest])
    needed = [*named, *(file for file in rest if file.name not in had)]
    try:
        _install_files(node, manager, needed)
    except CommandFailed as error:
        older = [file for file in rest if file.name in had and manager.is_older(had[file.name], file.version)]
        if not older:
            raise Failure(Code.PACKAGES_BROKEN, error.cause) from error
        node.say(f"also updates {', '.join(file.name for file in older)}: {error.cause}")
        try:
            _install_files(node, manager, [*needed, *older])
        except CommandFailed as again:
            raise Failure(Code.PACKAGES_BROKEN, again.cause) from again


def _install_files(node: Node, manager: PackageManager, files: Sequence[Download]) -> None:
    reported = ", ".join(f"{file.name} {file.version}" for file in files)
    manager.install(fetch_files(node, files), changes=f"installed {reported}")


def _dependencies(node: Node, files: Sequence[Download]) -> list[Download]:
    """Return the direct and indirect dependencies of `files` in the manifest, without `files`."""
    found = {file.name: file for file in files}
    waiting = [name for file in files for name in file.requires]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = find(node, name)
            waiting.extend(found[name].requires)
    return list(found.values())[len(files) :]
