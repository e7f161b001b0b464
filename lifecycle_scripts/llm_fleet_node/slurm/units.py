"""Starts Slurm's units with what we add to them, and sees when one runs on what was changed after its start."""

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
"""Place of the start time in /proc/<pid>/stat, counted from after the name: field 22 (proc(5))."""


@dataclass(frozen=True)
class Unit:
    """What systemd says of a service now."""

    name: str
    active: bool
    """Whether it runs, is just being started, or waits for what it is started after."""
    file: str
    """Path of its unit file; empty when there is none."""
    pid: int
    needs_reload: bool
    invocation: str
    """What the journal calls this run of it, or the last one."""
    restarts: int
    """How often systemd has started it anew by itself, since somebody started it."""

    @property
    def is_there(self) -> bool:
        """Whether the node has such a unit."""
        return bool(self.file)


def look(host: Host, *names: str) -> list[Unit]:
    """Return what systemd says of the services `names`, asked once for all."""
    text = host.run("systemctl", "show", f"--property={_PROPERTIES}", *(f"{name}.service" for name in names))
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in text.split("\n\n")]
    reported = {said["Id"]: said for said in blocks if "Id" in said}
    return [_unit(name, reported.get(f"{name}.service", {})) for name in names]


def _unit(name: str, said: dict[str, str]) -> Unit:
    return Unit(
        name=name,
        # One that was started without waiting is inactive until systemd comes to its job.
        active=said.get("ActiveState") in ("active", "activating", "reloading")
        or said.get("Job", "0") not in ("", "0"),
        file=said.get("FragmentPath", ""),
        pid=int(said.get("MainPID") or 0),
        needs_reload=said.get("NeedDaemonReload") == "yes",
        invocation=said.get("InvocationID", ""),
        restarts=int(said.get("NRestarts") or 0),
    )


def drop_in(name: str) -> str:
    """Return the path of what we add to the unit `name`."""
    return f"/etc/systemd/system/{name}.service.d/llm-fleet.conf"


def start(host: Host, name: str, *, adds: str = "", reads: Sequence[str] = (), wait: bool = True) -> None:
    """Make sure that the service `name` runs, now and after a reboot, on what its files say now.

    `adds` is what its drop-in says. It is started anew when that, or one of the files that it `reads` at its start,
    is newer than its process: a run that was killed between writing and starting is made good like this.
    Not `wait`: return while it starts. Raises `CommandFailed` when it does not start.
    """
    if adds:
        host.write(drop_in(name), adds)
    (unit,) = look(host, name)
    if not unit.is_there:
        fail(Code.SLURM_MISSING, f"there is no unit {name}.service")
    # As `systemctl enable` does, which costs a process of Perl where the unit has an init script too.
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
    """Make sure that the services `names` neither run nor are started at boot. One that is not there is off."""
    wanted = [name for name in names if os.path.lexists(host.path(f"{_WANTED_AT_BOOT}/{name}.service"))]
    for name in wanted:
        host.remove(f"{_WANTED_AT_BOOT}/{name}.service")
    if not wanted:
        return
    running = [unit.name for unit in look(host, *wanted) if unit.active]
    if running:
        host.run("systemctl", "stop", *running, changes=f"stopped {', '.join(running)}")


def is_older(host: Host, pid: int, paths: Sequence[str]) -> bool:
    """Return whether the process `pid` began before one of the files `paths` was written last."""
    began = _began(host, pid)
    if began is None:
        return False
    now = time.time()
    for path in paths:
        try:
            written = host.path(path).stat().st_ctime
        except OSError:
            continue
        # From the future: the clock was set back since, and nothing can be said.
        if began + 2 * _TICK < written <= now:
            return True
    return False


def _began(host: Host, pid: int) -> Optional[float]:
    """Return when the process began, in seconds of the wall clock; `None` when it is gone."""
    stat, uptime = host.read(f"/proc/{pid}/stat") if pid else None, host.read("/proc/uptime")
    if stat is None or uptime is None:
        return None
    ticks = int(stat.rpartition(")")[2].split()[_START_TIME])
    return time.time() - (float(uptime.split()[0]) - ticks * _TICK)
