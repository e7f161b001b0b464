"""The control groups of a node: one in each hierarchy of the machine. systemd on the node sees it as the root group."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from llm_fleet_local.drill.nodes.node import NodeError

TOP = "llm-fleet-drill"
"""All control groups of the drill are below this one."""


def hierarchies(mounts: Path = Path("/proc/self/mounts")) -> list[Path]:
    """Return the mount points of the cgroup hierarchies: one with cgroup v2, several with v1 or with both versions.

    Tested with v1 and with both versions. Not tested with v2 alone: no such machine was available.
    """
    found: list[Path] = []
    for line in mounts.read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and place.startswith("/sys/fs/cgroup"):
            found.append(Path(place))
    return found


def is_legacy() -> bool:
    """Return whether the machine has cgroup v1, alone or together with v2; systemd requires an option for it."""
    return not Path("/sys/fs/cgroup/cgroup.controllers").exists()


class ControlGroups:
    """The groups of one name, e.g. `a1b2c3d4/ip-10-66-0-10`, in all hierarchies."""

    def __init__(self, name: str) -> None:
        """Set the name; nothing is created yet."""
        self._parts = (TOP, *name.split("/"))
        self.places = [hierarchy.joinpath(*self._parts) for hierarchy in hierarchies()]

    def make(self) -> None:
        """Create the groups, and configure them so that processes can be added."""
        for hierarchy in hierarchies():
            folder = hierarchy
            for part in self._parts:
                folder /= part
                folder.mkdir(exist_ok=True)
                _prepare(folder)

    def processes(self) -> Iterator[int]:
        """Yield the ids of the processes in the groups and their subgroups, some more than once."""
        for place in self.places:
            for folder, _, _ in os.walk(place):
                try:
                    yield from map(int, (Path(folder) / "cgroup.procs").read_text().split())
                except OSError:
                    continue  # the group was removed meanwhile

    def of_process(self, pid: int) -> list[Path]:
        """Return the groups of process `pid`, one in each hierarchy. It must be in these groups or their subgroups."""
        names: dict[str, str] = {}
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            names[controllers.removeprefix("name=")] = path.lstrip("/")
        return [hierarchy / names[_controllers(hierarchy)] for hierarchy in hierarchies()]

    def kill(self, deadline: float = 20) -> None:
        """Kill all processes in the groups and wait until they end. Raises `NodeError` after `deadline` seconds."""
        end = time.monotonic() + deadline
        # A process outside this PID namespace is shown as 0 and is not a process of the drill.
        while left := {pid for pid in self.processes() if pid}:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if time.monotonic() > end:
                raise NodeError(f"processes {sorted(left)} have not ended after SIGKILL")
            time.sleep(0.01)

    def remove(self) -> None:
        """Remove the groups and their subgroups, which must have no processes."""
        for place in self.places:
            for folder, _, _ in os.walk(place, topdown=False):
                _remove(Path(folder))


def remove_empty_top() -> None:
    """Remove the top group of the drill in each hierarchy in which it has no subgroups."""
    for hierarchy in hierarchies():
        top = hierarchy / TOP
        if top.is_dir() and not any(entry.is_dir() for entry in top.iterdir()):
            _remove(top)


def _controllers(hierarchy: Path) -> str:
    """Return the name of `hierarchy` in /proc/PID/cgroup: empty for v2, and the name of its mount point for v1."""
    return "" if (hierarchy / "cgroup.controllers").exists() else hierarchy.name


def _remove(folder: Path) -> None:
    end = time.monotonic() + 5
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # busy: a killed process has not ended completely
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        else:
            return


def _prepare(folder: Path) -> None:
    """Allow processes in `folder`: cpuset (v1) requires CPUs and memory nodes; v2 requires the parent's controllers."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        setting = folder / name
        if is_legacy() and setting.exists() and not setting.read_text().strip():
            setting.write_text((folder.parent / name).read_text())
    control = folder.parent / "cgroup.subtree_control"
    if not is_legacy():
        wanted = (folder.parent / "cgroup.controllers").read_text().split()
        for controller in wanted:
            # One at a time, to skip controllers that the kernel rejects, e.g. cpu with real-time processes.
            with suppress(OSError):
                control.write_text(f"+{controller}")
