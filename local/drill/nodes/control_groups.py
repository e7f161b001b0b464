"""The control groups of a node: one in every hierarchy of the machine, so that systemd, in it, sees it as the root."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from local.drill.nodes.node import NodeError

TOP = "llm-fleet-drill"
"""Everything of the drill is below this group."""


def hierarchies(mounts: Path = Path("/proc/self/mounts")) -> list[Path]:
    """Return where the machine has its hierarchies: one with cgroup v2, many with v1 or the hybrid of both.

    v1 and hybrid were run; v2 alone was not, for want of such a machine.
    """
    found: list[Path] = []
    for line in mounts.read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and place.startswith("/sys/fs/cgroup"):
            found.append(Path(place))
    return found


def is_legacy() -> bool:
    """Return whether the machine has cgroup v1, alone or together with v2: systemd accepts it only with an option."""
    return not Path("/sys/fs/cgroup/cgroup.controllers").exists()


class ControlGroups:
    """The groups of one name, e.g. `a1b2c3d4/ip-10-66-0-10`, in all hierarchies."""

    def __init__(self, name: str) -> None:
        """Name them; nothing is made yet."""
        self._parts = (TOP, *name.split("/"))
        self.places = [hierarchy.joinpath(*self._parts) for hierarchy in hierarchies()]

    def make(self) -> None:
        """Make them, with what a process needs to be let in."""
        for hierarchy in hierarchies():
            folder = hierarchy
            for part in self._parts:
                folder /= part
                folder.mkdir(exist_ok=True)
                _prepare(folder)

    def processes(self) -> Iterator[int]:
        """Yield the processes in them and below, some more than once."""
        for place in self.places:
            for folder, _, _ in os.walk(place):
                try:
                    yield from map(int, (Path(folder) / "cgroup.procs").read_text().split())
                except OSError:
                    continue  # it went away meanwhile

    def of_process(self, pid: int) -> list[Path]:
        """Return the groups that process `pid`, which is in these or below, is in: one in each hierarchy."""
        names: dict[str, str] = {}
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            names[controllers.removeprefix("name=")] = path.lstrip("/")
        return [hierarchy / names[_controllers(hierarchy)] for hierarchy in hierarchies()]

    def kill(self, deadline: float = 20) -> None:
        """Kill every process in them and wait until all are gone. Raises `NodeError` after `deadline` seconds."""
        end = time.monotonic() + deadline
        # A process outside of our own count of processes shows as 0 and cannot be ours.
        while left := {pid for pid in self.processes() if pid}:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if time.monotonic() > end:
                raise NodeError(f"processes {sorted(left)} do not die")
            time.sleep(0.01)

    def remove(self) -> None:
        """Remove them and all below; no process may be left in them."""
        for place in self.places:
            for folder, _, _ in os.walk(place, topdown=False):
                _remove(Path(folder))


def remove_empty_top() -> None:
    """Remove the drill's own group where no cluster is left in it."""
    for hierarchy in hierarchies():
        top = hierarchy / TOP
        if top.is_dir() and not any(entry.is_dir() for entry in top.iterdir()):
            _remove(top)


def _controllers(hierarchy: Path) -> str:
    """Return how /proc/PID/cgroup names `hierarchy`: v2 has no name, v1 goes by the folder it is mounted on."""
    return "" if (hierarchy / "cgroup.controllers").exists() else hierarchy.name


def _remove(folder: Path) -> None:
    end = time.monotonic() + 5
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # busy: a process that was killed is not gone altogether
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        else:
            return


def _prepare(folder: Path) -> None:
    """Let processes in: cpuset (v1) wants CPUs and memory named; v2 hands on the controllers of the group above."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        setting = folder / name
        if is_legacy() and setting.exists() and not setting.read_text().strip():
            setting.write_text((folder.parent / name).read_text())
    control = folder.parent / "cgroup.subtree_control"
    if not is_legacy():
        wanted = (folder.parent / "cgroup.controllers").read_text().split()
        for controller in wanted:
            # One at a time: controllers that the machine refuses, e.g. cpu with real-time processes, are left out.
            with suppress(OSError):
                control.write_text(f"+{controller}")
