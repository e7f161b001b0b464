"""The Lustre client."""

from __future__ import annotations

import re
from typing import Optional

from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.rates import Rates, known
from llm_fleet_node.metrics.reading import Reading, nothing

SOURCE = "lustre"
_SECONDS = 5
"""Timeout for the size of a mount. A client that has lost its server waits forever."""
_BYTES = re.compile(r"^(read_bytes|write_bytes)\s+\d+ samples \[bytes\]\s+\d+\s+\d+\s+(\d+)", re.MULTILINE)
"""`read_bytes 1025 samples [bytes] <least> <most> <sum>`, since 2.14 followed by the sum of squares. A counter exists
after its first use."""


def read_lustre(machine: Machine, rates: Rates) -> Reading:
    """Return the metrics of the node's Lustre mounts; absent if it has none."""
    mounts = [line.split()[1] for line in (machine.read("/proc/mounts") or "").splitlines() if _is_lustre(line)]
    if not mounts:
        return nothing(SOURCE, "this node mounts no Lustre file system")
    used: list[float] = []
    silent: dict[str, str] = {}
    for mount in mounts:
        try:
            used.append(_used(machine, mount))
        except Unreadable as error:
            silent[mount] = str(error)
    values: dict[str, Optional[float]] = {
        "lustre_answering": 0.0 if silent else 1.0,
        "lustre_used": max(used, default=None),
        **_traffic(machine, rates),
    }
    return Reading(known(values), {"LustreSilent": silent} if silent else {})


def _is_lustre(line: str) -> bool:
    return line.split()[2:3] == ["lustre"]


def _used(machine: Machine, mount: str) -> float:
    """Run df as a separate program, which can hang without blocking this one."""
    said = machine.run("df", "--output=pcent", mount, seconds=_SECONDS).split()
    if not said or not said[-1].rstrip("%").isdigit():
        raise Unreadable(f"df reports no size for {mount}")
    return float(said[-1].rstrip("%"))


def _traffic(machine: Machine, rates: Rates) -> dict[str, Optional[float]]:
    try:
        said = machine.run("lctl", "get_param", "llite.*.stats", seconds=_SECONDS)
    except Unreadable:
        return {}
    sums = {"read_bytes": 0.0, "write_bytes": 0.0}
    for name, count in _BYTES.findall(said):
        sums[name] += float(count)
    return {
        "lustre_read": rates.per_second("lustre_read", sums["read_bytes"]),
        "lustre_written": rates.per_second("lustre_written", sums["write_bytes"]),
    }
