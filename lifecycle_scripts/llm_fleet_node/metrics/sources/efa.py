"""EFA interfaces, from the driver's counters.

Their names: docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-working-monitor.html. Counters that an older card or driver
lacks are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.rates import Rates, known
from llm_fleet_node.metrics.reading import Reading, nothing

SOURCE = "efa"
_AMAZON = "0x1d0f"
_ERRORS = (
    "rx_drops",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
)


def read_efa(machine: Machine, rates: Rates) -> Reading:
    """Return the sums over all EFA interfaces of the node; absent if it has none."""
    folders = [path for path in machine.paths("/sys/class/infiniband/*") if _is_amazons(machine, path)]
    if not folders:
        return nothing(SOURCE, "this node has no EFA interface")
    errors = {name: count for name in _ERRORS if (count := _sum(machine, folders, (name,))) is not None}
    risen = {name: rates.rise(f"efa_{name}", count) for name, count in errors.items()}
    values: dict[str, Optional[float]] = {
        "efa_received": _speed(machine, folders, rates, "rx_bytes"),
        "efa_sent": _speed(machine, folders, rates, "tx_bytes"),
        "efa_retransmitted": _risen(machine, folders, rates, "retrans_pkts"),
        "efa_errors": sum(known(risen).values()) if known(risen) else None,
    }
    details = {"EfaInterfaces": len(folders), "EfaErrorsByKind": {name: n for name, n in known(risen).items() if n}}
    return Reading(known(values), details)


def _is_amazons(machine: Machine, folder: str) -> bool:
    return (machine.read(f"{folder}/device/vendor") or "").strip() == _AMAZON


def _speed(machine: Machine, folders: Iterable[str], rates: Rates, name: str) -> Optional[float]:
    count = _sum(machine, folders, (name,))
    return None if count is None else rates.per_second(f"efa_{name}", count)


def _risen(machine: Machine, folders: Iterable[str], rates: Rates, name: str) -> Optional[float]:
    count = _sum(machine, folders, (name,))
    return None if count is None else rates.rise(f"efa_{name}", count)


def _sum(machine: Machine, folders: Iterable[str], names: Iterable[str]) -> Optional[float]:
    """Return the sum of the counters `names` of all interfaces; `None` if no interface has one."""
    texts = [
        machine.read(path)
        for folder in folders
        for name in names
        for path in machine.paths(f"{folder}/ports/*/hw_counters/{name}")
    ]
    counts = [float(text) for text in texts if text is not None and text.strip().isdigit()]
    return sum(counts) if counts else None
