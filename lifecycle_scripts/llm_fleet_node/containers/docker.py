"""Looks at the Docker that runs, and moves it to another disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.services import run_unit

DOCKER, CONTAINERD = "docker.service", "containerd.service"
_METADATA = "/io.containerd.metadata.v1.bolt/meta.db"
"""containerd keeps this file below its root open for as long as it runs."""


@dataclass(frozen=True)
class Running:
    """What runs, as systemd and the processes themselves tell."""

    has_containerd: bool
    """There is a containerd beside Docker; else Docker starts one of its own, inside its data root."""
    data_root: Optional[str]
    """Docker's; `None` when it does not run."""
    containerd_root: Optional[str]
    """`None` when it does not run, or there is none."""

    @classmethod
    def read(cls, host: Host) -> Running:
        """Look."""
        units = _units(host, DOCKER, CONTAINERD)
        docker, containerd = units[DOCKER], units[CONTAINERD]
        active = docker.get("ActiveState") == "active"
        return cls(
            has_containerd=containerd.get("LoadState") == "loaded",
            data_root=host.run("docker", "info", "--format", "{{.DockerRootDir}}").strip() if active else None,
            containerd_root=_open_root(host, containerd.get("MainPID", "0")),
        )

    def elsewhere(self, layout: Layout) -> list[str]:
        """Say what keeps its data elsewhere than `layout` has it."""
        found = [("Docker", self.data_root, layout.docker)]
        if self.has_containerd:
            found.append(("containerd", self.containerd_root, layout.containerd))
        return [
            f"{name} keeps its data in {there}, not in {wanted}" for name, there, wanted in found if there != wanted
        ]


def start_at(host: Host, layout: Layout) -> None:
    """Make Docker run with its data where `layout` has it; its configuration says so already.

    Raises `Failure` when it would have to be restarted and containers run: they would be lost.
    """
    running = Running.read(host)
    if running.elsewhere(layout) and (running.data_root or running.containerd_root):
        _restart(host, running, layout)
    for unit in [CONTAINERD, DOCKER] if running.has_containerd else [DOCKER]:
        run_unit(host, unit)


def disk_problem(host: Host, layout: Layout) -> Optional[str]:
    """Say what of the node's containers is not on the disk that the planner chose; `None` when all is."""
    running = Running.read(host)
    elsewhere = running.elsewhere(layout)
    if elsewhere:
        return "; ".join(elsewhere)
    device = os.stat(host.path(layout.place)).st_dev
    roots = [running.data_root, running.containerd_root if running.has_containerd else None]
    for root in [root for root in roots if root]:
        if os.stat(host.path(root)).st_dev != device:
            return f"{root} is on another disk than {layout.place}"
    return None


def _restart(host: Host, running: Running, layout: Layout) -> None:
    names = host.run("docker", "ps", "--format", "{{.Names}}").split() if running.data_root else []
    if names:
        fail(
            Code.CONTAINER_DISK,
            f"{'; '.join(running.elsewhere(layout))}; not restarted, since containers run: {', '.join(names)}",
            final=True,
        )
    units = [CONTAINERD, DOCKER] if running.has_containerd else [DOCKER]
    # The image and other scripts start Docker too, and systemd refuses a fourth start within a minute.
    host.run("systemctl", "reset-failed", *units)
    host.run("systemctl", "restart", *units, timeout=90, changes=f"restarted {' and '.join(units)}")


def _units(host: Host, *units: str) -> dict[str, dict[str, str]]:
    """Return what systemd knows of `units`, by one call."""
    said = host.run("systemctl", "show", "--property=Id,LoadState,ActiveState,MainPID", *units)
    blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in said.split("\n\n")]
    return {block["Id"]: block for block in blocks}


def _open_root(host: Host, pid: str) -> Optional[str]:
    """Return the root of the containerd with the process id `pid`, by the file that it holds open."""
    folder = host.path(f"/proc/{pid}/fd")
    for link in sorted(folder.iterdir()) if pid != "0" and folder.is_dir() else []:
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.endswith(_METADATA):
            return target[: -len(_METADATA)]
    return None
