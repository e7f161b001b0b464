"""Processors, memory, local disks and uptime."""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.rates import Rates, known
from llm_fleet_node.metrics.reading import Reading, trouble

LOCAL_DISKS = ("/opt/sagemaker", "/opt/dlami/nvme", "/scratch")
"""Mount points of local data disks: HyperPod's secondary volume, the instance store of AWS's images, ParallelCluster's
EphemeralVolume."""


def read_node(machine: Machine, rates: Rates) -> Reading:
    """Return the metrics of any Linux machine."""
    stat, memory = machine.read("/proc/stat"), machine.read("/proc/meminfo")
    if stat is None or memory is None:
        return trouble("node", "/proc/stat and /proc/meminfo cannot be read")
    processors = sum(1 for line in stat.splitlines() if line[:3] == "cpu" and line[3:4].isdigit())
    root = machine.used_percent("/")
    values: dict[str, Optional[float]] = {
        "nodes_reporting": 1.0,
        "cpu_utilization": _utilization(stat, rates),
        "load_per_cpu": _first_number(machine.read("/proc/loadavg"), processors),
        "memory_used": _memory_used(memory),
        "root_disk_used": root,
        "local_disk_used": _fullest_local_disk(machine),
        "uptime": _first_number(machine.read("/proc/uptime"), 1),
    }
    return Reading(known(values), {"Processors": processors})


def _utilization(stat: str, rates: Rates) -> Optional[float]:
    """Return the CPU time that was not idle or iowait, in percent (proc(5))."""
    ticks = [float(part) for part in stat.splitlines()[0].split()[1:9]]
    if len(ticks) < 5:
        return None
    everything = rates.rise("cpu_all", sum(ticks))
    idle = rates.rise("cpu_idle", ticks[3] + ticks[4])
    if everything is None or idle is None or everything <= 0:
        return None
    return min(100.0, max(0.0, 100.0 * (everything - idle) / everything))


def _memory_used(memory: str) -> Optional[float]:
    reported = {name: rest.split() for name, _, rest in (line.partition(":") for line in memory.splitlines())}
    try:
        whole, free = float(reported["MemTotal"][0]), float(reported["MemAvailable"][0])
    except (KeyError, IndexError, ValueError):
        return None
    return 100.0 * (whole - free) / whole if whole else None


def _first_number(text: Optional[str], of: int) -> Optional[float]:
    try:
        return float((text or "").split()[0]) / of
    except (IndexError, ValueError, ZeroDivisionError):
        return None


def _fullest_local_disk(machine: Machine) -> Optional[float]:
    """A folder with this name on the root disk does not count: it would report the root disk twice."""
    found = [machine.used_percent(path) for path in LOCAL_DISKS if os.path.ismount(machine.path(path))]
    return max((used for used in found if used is not None), default=None)
