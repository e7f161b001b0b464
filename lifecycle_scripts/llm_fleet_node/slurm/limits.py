"""How much memory a daemon may lock, as the kernel tells it."""

from __future__ import annotations

import re

from llm_fleet_node.host import Host

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
