"""How much memory a daemon may lock, as the kernel tells it, and whether that is enough for EFA."""

from __future__ import annotations

import re

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node

UNLIMITED = "unlimited"
_LOCKED = re.compile(r"^Max locked memory +(\S+)", re.MULTILINE)
_BOUND = re.compile(r"^CapBnd:\s*([0-9a-f]+)$", re.MULTILINE)
_RAISE = 1 << 24
"""CAP_SYS_RESOURCE (linux/capability.h)."""


def locked_memory(host: Host, pid: int) -> str:
    """Return the soft limit of the process `pid`: `unlimited`, or e.g. `8388608 bytes`; empty when it is gone."""
    found = _LOCKED.search(host.read(f"/proc/{pid}/limits") or "")
    if found is None:
        return ""
    return UNLIMITED if found.group(1) == UNLIMITED else f"{found.group(1)} bytes"


def can_be_raised(host: Host) -> bool:
    """Return whether root may raise limits here. In a container it may not, unless it was told so."""
    bound = _BOUND.search(host.read("/proc/self/status") or "")
    return bound is None or bool(int(bound.group(1), 16) & _RAISE)


def check_for_efa(node: Node, pid: int) -> None:
    """Raise `Failure` where slurmd (`pid`), and so jobs, could not lock memory, which EFA needs."""
    found = locked_memory(node.host, pid)
    if found == UNLIMITED:
        return
    reported = f"slurmd, and so its jobs, may lock {found or 'nobody knows how much'} of memory; EFA needs unlimited"
    if can_be_raised(node.host):
        fail(Code.ACCELERATOR_SETTINGS, reported)
    node.say(f"{reported}, but this machine is a container that may not raise it")
