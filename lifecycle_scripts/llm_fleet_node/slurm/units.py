"""Starts Slurm's units with drop-ins, and detects units that started before their files changed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.services import reload_units

_WANTED_AT_BOOT = "/etc/systemd/system/multi-user.target.wants"
_PROPERTIES = "Id,ActiveState,FragmentPath,MainPID,NeedDaemonReload,InvocationID,Job,NRestarts"
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_START_TIME = 19
"""Index of the start time in /proc/<pid>/stat after the name: field 22 (proc(5))."""


@dataclass(frozen=True)
class Unit:
    """The state of a service in systemd."""

    name: str
    active: bool
    """Whether it is active, starting, or waiting for units that it starts after."""
    file: str
    """Path of its unit file; empty if there is none."""
    pid: int
    needs_reload: bool
    invocation: str
    """The invocation id in the journal of this or the last run."""
    restarts: int
    """Number of automatic restarts by systemd since it was started."""

    @property
    def is_there(self) -> bool:
        """Whether the node has such a unit."""
        return bool(self.file)


def look(host: Host, *names: str) -> list[Unit]:
    """Return the state of the services `names`, with one query."""
    text = host.run("systemctl", "show", f"--property={_PROPERTIES}", *(f"{name}.service" for name in names))
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in text.split("\n\n")]
    reported = {said["Id"]: said for said in blocks if "Id" in said}
    return [_unit(name, reported.get(f"{name}.service", {})) for name in names]


def _unit(name: str, said: dict[str, str]) -> Unit:
    return Unit(
        name=name,
        # A unit that was started without waiting is inactive until systemd runs its job.
        active=said.get("ActiveState") in ("active", "activating", "reloading")
        or said.get("Job", "0") not in ("", "0"),
        file=said.get("FragmentPath", ""),
        pid=int(said.get("MainPID") or 0),
        needs_reload=said.get("NeedDaemonReload") == "yes",
        invocation=said.get("InvocationID", ""),
        restarts=int(said.get("NRestarts") or 0),
    )


def drop_in(name: str) -> str:
    """Return the path of llm-fleet's drop-in of the unit `name`."""
    return f"/etc/systemd/system/{name}.service.d/llm-fleet.conf"


def start(host: Host, name: str, *, adds: str = "", reads: Sequence[str] = (), wait: bool = True) -> None:
    """Enable the service `name`, and make sure that it runs with its current files.

    `adds`: the text of its drop-in. It is restarted if the drop-in or one of the files that it `reads` at its start is
    newer than its process: this also covers a run that was killed between writing and starting. Not `wait`: return
    while it starts. Raises `CommandFailed` if it does not start.
    """
    if adds:
        host.write(drop_in(name), adds)
    (unit,) = look(host, name)
    if not unit.is_there:
        fail(Code.SLURM_MISSING, f"there is no unit {name}.service")
    # As `systemctl enable` does, but without its Perl process for units that also have an init script.
    host.link(f"{_WANTED_AT_BOOT}/{name}.service", unit.file)
    if unit.needs_reload:
        reload_units(host)
    stale = unit.active and is_older(host, unit.pid, [*reads, *([drop_in(name)] if adds else [])])
    if unit.active and not stale:
        return
    verb = "restart" if unit.active else "start"
    block = () if wait else ("--no-block",)
    host.run("systemctl", verb, *block, f"{name}.service", timeout=110, changes=f"{verb}ed {name}")


def stay_off(host: Host, *names: str) -> None:
    """Stop and disable the services `names`. A service that does not exist counts as disabled."""
    wanted = [name for name in names if os.path.lexists(host.path(f"{_WANTED_AT_BOOT}/{name}.service"))]
    for name in wanted:
        host.remove(f"{_WANTED_AT_BOOT}/{name}.service")
    if not wanted:
        return
    running = [unit.name for unit in look(host, *wanted) if unit.active]
    if running:
        host.run("systemctl", "stop", *running, changes=f"stopped {', '.join(running)}")


def is_older(host: Host, pid: int, paths: Sequence[str]) -> bool:
    """Return whether the process `pid` started before the last change of one of the files `paths`."""
    began = _began(host, pid)
    if began is None:
        return False
    now = time.time()
    for path in paths:
        try:
            written = host.path(path).stat().st_ctime
        except OSError:
            continue
        # In the future: the clock was set back, so the order is unknown.
        if began + 2 * _TICK < written <= now:
            return True
    return False


def _began(host: Host, pid: int) -> Optional[float]:
    """Return the start time of the process in seconds since 1970; `None` if it has ended."""
    stat, uptime = host.read(f"/proc/{pid}/stat") if pid else None, host.read("/proc/uptime")
    if stat is None or uptime is None:
        return None
    ticks = int(stat.rpartition(")")[2].split()[_START_TIME])
    return time.time() - (float(uptime.split()[0]) - ticks * _TICK)
