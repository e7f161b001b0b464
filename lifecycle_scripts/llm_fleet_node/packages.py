"""Looks at the node's packages and installs what is missing: pinned files only, nothing from a repository."""

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
    """Return whether the package `name` is installed, whole and configured."""
    return installed_version(host, name) is not None


def installed_version(host: Host, name: str) -> Optional[str]:
    """Return the version of the installed package `name`, as the package manager writes it; `None` without it."""
    return installed_versions(host, [name]).get(name)


def installed_versions(host: Host, names: Sequence[str]) -> dict[str, str]:
    """Return the versions of those of the packages `names` that are installed, at one look."""
    return manager_of(host).versions(names)


def repair(host: Host) -> None:
    """End what an installation that was killed has left half done; wait for one that goes on. Raises `Failure`."""
    manager_of(host).repair()


def held(host: Host) -> set[str]:
    """Return the packages that an upgrade of the system leaves as they are."""
    return manager_of(host).held()


def install(node: Node, names: Sequence[str], *, hold: bool = False) -> None:
    """Make sure that the packages `names` are installed; one may be `name=version`. `hold`: and stay as they are.

    What is missing comes with its dependencies from the manifest's downloads. Raises `Failure`: LFN85 when nodes
    fetch nothing, LFN86 when it is not pinned, LFN87 to LFN90 when it cannot be fetched, LFN91 and LFN92 when the
    package manager does not install it.
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
            fail(Code.PACKAGES_BROKEN, f"{', '.join(left)}: still not installed, though the package manager is content")
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
        node.say(f"brings {', '.join(file.name for file in older)} up to date with it: {error.cause}")
        try:
            _install_files(node, manager, [*needed, *older])
        except CommandFailed as again:
            raise Failure(Code.PACKAGES_BROKEN, again.cause) from again


def _install_files(node: Node, manager: PackageManager, files: Sequence[Download]) -> None:
    reported = ", ".join(f"{file.name} {file.version}" for file in files)
    manager.install(fetch_files(node, files), changes=f"installed {reported}")


def _dependencies(node: Node, files: Sequence[Download]) -> list[Download]:
    """Return what the manifest says that `files` require, and what that requires, without themselves."""
    found = {file.name: file for file in files}
    waiting = [name for file in files for name in file.requires]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = find(node, name)
            waiting.extend(found[name].requires)
    return list(found.values())[len(files) :]
