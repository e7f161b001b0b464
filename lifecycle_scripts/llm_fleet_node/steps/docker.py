"""Docker runs, with its data on the disk for large data, not on the root volume."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node import disks, packages
from llm_fleet_node.containers import config_files
from llm_fleet_node.containers.docker import CONTAINERD, Running, containers, elsewhere, is_on_disk, start_at
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_PACKAGES = (("docker-ce", "docker-ce-cli"), ("docker.io", "docker-cli"), ("docker",))
"""Packages of Docker, of Debian and Ubuntu (newer releases have a package for the CLI), and of Amazon Linux."""


def _apply(node: Node) -> None:
    """Put the data of Docker and containerd on the chosen disk. Existing data is not moved."""
    host, layout = node.host, disks.read(node.host)
    if not _is_there(node):
        packages.install(node, _to_install(node))
    running = Running.read(host)
    if not is_on_disk(host, running.data_root, layout):
        config_files.put_data_root(host, layout.docker)
    has_containerd = host.which("containerd") and host.succeeds("systemctl", "cat", "--quiet", CONTAINERD)
    if has_containerd and not is_on_disk(host, running.containerd_root, layout):
        config_files.put_containerd_root(host, layout.containerd)
    start_at(host, layout)


def _verify(node: Node) -> None:
    """Verify, from the daemons' state and open files, that their data is on that disk.

    If the data is elsewhere, because containers run or because other settings take precedence, the node still works:
    this is only logged.
    """
    host, layout = node.host, disks.read(node.host)
    running = Running.read(host)
    silent = [name for name, there, _ in running.daemons(layout) if there is None]
    if silent:
        fail(Code.CONTAINER_DISK, f"{' and '.join(silent)} does not run")
    found = elsewhere(host, running, layout)
    if not found:
        return
    names = containers(host)
    if not names and not config_files.name_roots(host, layout.docker, layout.containerd):
        fail(Code.CONTAINER_DISK, "; ".join(found))
    why = f"containers are running: {', '.join(names)}" if names else "other settings take precedence"
    node.say(f"{'; '.join(found)}; not changed: {why}")


def _skip(node: Node) -> Optional[str]:
    """Skipped on a node without Docker if the fleet does not install it."""
    if _is_there(node) or _to_install(node):
        return None
    return "the node has no Docker, and the fleet does not install it"


def _is_there(node: Node) -> bool:
    return node.host.which("dockerd") is not None and node.host.which("docker") is not None


def _to_install(node: Node) -> list[str]:
    """Return the packages to install: those of the first kind that the fleet's downloads name."""
    downloads = node.manifest.downloads
    pinned = {file.name for file in downloads.files} if downloads.source != "none" else set[str]()
    for names in _PACKAGES:
        if names[0] in pinned:
            return [name for name in names if name in pinned]
    return []


STEP = Step(
    name="docker",
    summary="Docker runs, with its data on the disk for large data",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("disks",),
    skip=_skip,
    timeout=1500,  # timeout of packages.install, and of the rest
    retries=1,
)
