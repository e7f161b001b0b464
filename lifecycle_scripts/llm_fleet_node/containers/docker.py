"""Inspects the running Docker daemon, and moves its data root to another disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.host import Host
from llm_fleet_node.services import run_unit

DOCKER, CONTAINERD = "docker.service", "containerd.service"
_METADATA = "/io.containerd.metadata.v1.bolt/meta.db"
"""File below containerd's root that it keeps open while it runs."""


@dataclass(frozen=True)
class Running:
    """State of the daemons, from systemd and the processes."""

    has_containerd: bool
    """Whether containerd has its own unit; otherwise Docker starts one inside its data root."""
    data_root: Optional[str]
    """Docker's data root; `None` if it is not running."""
    containerd_root: Optional[str]
    """containerd's root; `None` if it is not running or does not exist."""

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
        """Return each daemon with its current data folder, and its folder in `layout`."""
        found = [("Docker", self.data_root, layout.docker)]
        return [*found, ("containerd", self.containerd_root, layout.containerd)] if self.has_containerd else found


def elsewhere(host: Host, running: Running, layout: Layout) -> list[str]:
    """Describe the daemons whose data is not on the disk of `layout`. Any folder on that disk is accepted.

    Before `OnInitComplete` the AMI starts Docker with a folder of its own. assumption: ami-docker-data-root
    """
    return [
        f"{name} has its data in {there} instead of {wanted}"
        for name, there, wanted in running.daemons(layout)
        if there is not None and not is_on_disk(host, there, layout)
    ]


def is_on_disk(host: Host, place: Optional[str], layout: Layout) -> bool:
    """Return whether `place` exists on the chosen disk."""
    if place is None or not host.path(place).exists():
        return False
    return _device(host, place) == _device(host, layout.place)


def containers(host: Host) -> list[str]:
    """Return the names of the running containers; Docker must be running."""
    return host.run("docker", "ps", "--format", "{{.Names}}").split()


def start_at(host: Host, layout: Layout) -> None:
    """Restart Docker, so that it uses the data root in its configuration.

    It is not restarted while containers run, because they would be killed.
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
    # The image and other scripts start Docker too, and systemd rejects a fourth start within a minute.
    host.run("systemctl", "reset-failed", *units)
    host.run("systemctl", "restart", *units, timeout=90, changes=f"restarted {' and '.join(units)}")


def _units(host: Host, *units: str) -> dict[str, dict[str, str]]:
    """Return systemd's properties of `units`, with one call."""
    said = host.run("systemctl", "show", "--property=Id,LoadState,ActiveState,MainPID", *units)
    blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in said.split("\n\n")]
    return {block["Id"]: block for block in blocks}


def _open_root(host: Host, pid: str) -> Optional[str]:
    """Return the root of the containerd process `pid`, from the file that it keeps open."""
    folder = host.path(f"/proc/{pid}/fd")
    for link in sorted(folder.iterdir()) if pid != "0" and folder.is_dir() else []:
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.endswith(_METADATA):
            return target[: -len(_METADATA)]
    return None
