"""NVIDIA GPUs: their number in the driver, and the kernel's error messages."""

from __future__ import annotations

import re
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host

_DRIVER = "/proc/driver/nvidia"


def count(host: Host) -> Optional[int]:
    """Return how many GPUs the driver has; `None` if it is not loaded."""
    folder = host.path(f"{_DRIVER}/gpus")
    if folder.is_dir():
        return sum(1 for _ in folder.iterdir())
    return 0 if host.path(_DRIVER).is_dir() else None


def listed(host: Host) -> Optional[int]:
    """Return how many GPUs `nvidia-smi` lists, without GPUs that fell off the bus; `None` without the program."""
    if host.which("nvidia-smi") is None:
        return None
    try:
        return len(re.findall(r"^GPU \d+:", host.run("nvidia-smi", "-L"), re.MULTILINE))
    except CommandFailed:
        return 0


def xid_errors(host: Host) -> list[str]:
    """Return the driver's last messages about GPU errors (Xid)."""
    try:
        messages = host.run("dmesg")
    except CommandFailed:
        return []
    return re.findall(r"NVRM: Xid.*", messages)[-3:]
