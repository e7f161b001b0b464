"""Tests with a transfer that Lustre uses EFA, and that LNet has all its EFA interfaces.

Lustre falls back to TCP without a message: the mount looks the same, but is several times slower. Only LNet's counters
show it. Metadata always uses TCP, so the transfer is large enough to need the storage servers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.lustre_efa import UNIT, chosen, show_efa
from llm_fleet_node.mounts.proof import new_file
from llm_fleet_node.node import Node

_MIB = 1 << 20
_TRANSFER = 64 * _MIB
_LEAST_MESSAGES = 4
"""Minimum number of messages for 64 MiB: a message has at most 16 MiB."""
_COUNTER = re.compile(r"^\s*(send_count|recv_count):\s*(\d+)\s*$", re.MULTILINE)

_UP = re.compile(r"^\s*status:\s*up\s*$", re.MULTILINE)


def prove_efa(node: Node, path: str) -> str:
    """Write and read 64 MiB below `path` and return the increase of EFA's counters.

    Raises `Failure` if they did not increase, or if LNet has fewer EFA interfaces up than it should.
    """
    host = node.host
    before = _counters(host)
    _transfer(host, path)
    after = _counters(host)
    risen = {name: after[name] - before[name] for name in before}
    reported = ", ".join(f"{name} rose by {number}" for name, number in sorted(risen.items()))
    if min(risen.values()) < _LEAST_MESSAGES:
        fail(Code.LUSTRE_TCP, f"{path} uses TCP instead of EFA: after a transfer of 64 MiB LNet's {reported} on EFA")
    wanted, up = chosen(node), len(_UP.findall(show_efa(host)))
    if up < len(wanted):
        names = ", ".join(wanted)
        fail(
            Code.LUSTRE_TCP,
            f"LNet has {up} of {len(wanted)} EFA interfaces up for {path} ({names}): Lustre uses EFA, but slower "
            f"than it could; see `journalctl -u {UNIT}`",
        )
    return reported


def _counters(host: Host) -> dict[str, int]:
    """Return LNet's messages over EFA, summed over its interfaces."""
    reported = show_efa(host)
    if not reported:
        fail(Code.LUSTRE_TCP, "LNet has no EFA network: `lnetctl net show --net efa` lists none")
    totals = {"send_count": 0, "recv_count": 0}
    for name, number in _COUNTER.findall(reported):
        totals[name] += int(number)
    return totals


def _transfer(host: Host, path: str) -> None:
    """Write and read a file below `path` without the page cache, so that the data is transferred; remove it."""
    import mmap  # only used with EFA

    try:
        with new_file(host, path, flags=os.O_DIRECT) as handle, mmap.mmap(-1, _MIB) as page:  # aligned, for O_DIRECT
            page.write(os.urandom(_MIB))
            _move(path, lambda: os.writev(handle, [page]))
            os.fsync(handle)
            os.lseek(handle, 0, os.SEEK_SET)
            _move(path, lambda: os.readv(handle, [page]))
    except OSError as error:
        fail(Code.STORAGE_UNUSABLE, f"64 MiB cannot be written to and read from {path}: {error.strerror}")


def _move(path: str, some: Callable[[], int]) -> None:
    moved = 0
    while moved < _TRANSFER:
        step = some()
        if step == 0:
            fail(Code.STORAGE_UNUSABLE, f"a file in {path} ends after {moved} of {_TRANSFER} bytes")
        moved += step
