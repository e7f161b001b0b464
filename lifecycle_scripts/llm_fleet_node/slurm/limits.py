"""The locked memory limit of a daemon, and whether it is enough for EFA."""

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
    """Return the soft limit of the process `pid`: `unlimited`, or e.g. `8388608 bytes`; empty if it has ended."""
    found = _LOCKED.search(host.read(f"/proc/{pid}/limits") or "")
    if found is None:
        return ""
    return UNLIMITED if found.group(1) == UNLIMITED else f"{found.group(1)} bytes"


def can_be_raised(host: Host) -> bool:
    """Return whether root can raise limits here. In a container it needs CAP_SYS_RESOURCE."""
    bound = _BOUND.search(host.read("/proc/self/status") or "")
    return bound is None or bool(int(bound.group(1), 16) & _RAISE)


def check_for_efa(node: Node, pid: int) -> None:
    """Raise `Failure` if slurmd (`pid`), and so its jobs, cannot lock the memory that EFA needs."""
    found = locked_memory(node.host, pid)
    if found == UNLIMITED:
        return
    reported = f"the locked memory limit of slurmd and its jobs is {found or 'unknown'}; EFA requires unlimited"
    if can_be_raised(node.host):
        fail(Code.ACCELERATOR_SETTINGS, reported)
    node.say(f"{reported}, but this machine is a container that cannot raise it")
