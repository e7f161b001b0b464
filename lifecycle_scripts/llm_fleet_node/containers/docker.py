"""Looks at the Docker that runs, and moves it to another disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.disks.layout import Layout
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

    def daemons(self, layout: Layout) -> list[tuple[str, Optional[str], str]]:
        """Return each daemon, where it keeps its data, and where `layout` has it."""
        found = [("Docker", self.data_root, layout.docker)]
        return [*found, ("containerd", self.containerd_root, layout.containerd)] if self.has_containerd else found


def elsewhere(host: Host, running: Running, layout: Layout) -> list[str]:
    """Say what runs with its data on another disk than `layout` has it. Any place on that disk is as good.

    Before `OnInitComplete` the AMI has started Docker, in a folder of its own. assumption: ami-docker-data-root
    """
    return [
        f"{name} keeps its data in {there}, not in {wanted}"
        for name, there, wanted in running.daemons(layout)
        if there is not None and not is_on_disk(host, there, layout)
    ]


def is_on_disk(host: Host, place: Optional[str], layout: Layout) -> bool:
    """Return whether `place` is there and on the disk that the planner chose."""
    if place is None or not host.path(place).exists():
        return False
    return _device(host, place) == _device(host, layout.place)


def containers(host: Host) -> list[str]:
    """Return the names of the containers that run, of a Docker that does."""
    return host.run("docker", "ps", "--format", "{{.Names}}").split()


def start_at(host: Host, layout: Layout) -> None:
    """Make Docker run with its data on the disk of `layout`; its configuration says so already.

    It is not restarted while containers run: they would be lost.
    """
    running = Running.read(host)
    if elsewhere(host, running, layout) and not (running.data_root and containers(host)):
        _restart(host, running)
    for unit in [CONTAINERD, DOCKER] if running.has_containerd else [DOCKER]:
        run_unit(host, unit)


def _device(host: Host, path: str) -> int:
    return os.stat(host.path(path)).st_dev


def _restart(host: Host, running: Running) -> None:
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
