"""Docker: runs, with its data on the disk that has room for it, and not on the root volume."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node import disks, packages
from llm_fleet_node.containers import config_files
from llm_fleet_node.containers.docker import CONTAINERD, disk_problem, start_at
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_PACKAGES = ("docker-ce", "docker.io", "docker")
"""Docker's own, Debian's and Ubuntu's, Amazon Linux's."""


def apply(node: Node) -> None:
    """Put the data of Docker and containerd on the planner's disk. What an old place holds is not moved."""
    host, layout = node.host, disks.read(node.host)
    if host.which("dockerd") is None:
        packages.install(node, _to_install(node))
    config_files.put_data_root(host, layout.docker)
    if host.which("containerd") and host.succeeds("systemctl", "cat", "--quiet", CONTAINERD):
        config_files.put_containerd_root(host, layout.containerd)
    start_at(host, layout)


def verify(node: Node) -> None:
    """Prove, by what the daemons themselves say and hold open, that their data is on that disk."""
    problem = disk_problem(node.host, disks.read(node.host))
    if problem:
        fail(Code.CONTAINER_DISK, problem)


def skip(node: Node) -> Optional[str]:
    """Nothing to do on a node that has no Docker and may not, or need not, fetch one."""
    if node.host.which("dockerd") or _to_install(node):
        return None
    return "the node has no Docker, and the fleet names none to install"


def _to_install(node: Node) -> list[str]:
    """Return the package to install: the first that the fleet's downloads name."""
    downloads = node.manifest.downloads
    pinned = {file.name for file in downloads.files} if downloads.source != "none" else set[str]()
    return [name for name in _PACKAGES if name in pinned][:1]


STEP = Step(
    name="docker",
    summary="Docker runs, with its data on the disk that has room for it",
    roles=EVERY_ROLE,
    apply=apply,
    verify=verify,
    needs=("disks",),
    skip=skip,
    timeout=300,
    retries=1,
)
