"""NVIDIA GPUs: how many the driver has, and what the kernel says of sick ones."""

from __future__ import annotations

import re
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host

_DRIVER = "/proc/driver/nvidia"


def count(host: Host) -> Optional[int]:
    """Return how many GPUs the driver has taken on; `None` when it does not run."""
    folder = host.path(f"{_DRIVER}/gpus")
    if folder.is_dir():
        return sum(1 for _ in folder.iterdir())
    return 0 if host.path(_DRIVER).is_dir() else None


def listed(host: Host) -> Optional[int]:
    """Return how many GPUs `nvidia-smi` can talk to: one that fell off the bus is missing here. `None` without it."""
    if host.which("nvidia-smi") is None:
        return None
    try:
        return len(re.findall(r"^GPU \d+:", host.run("nvidia-smi", "-L"), re.MULTILINE))
    except CommandFailed:
        return 0


def xid_errors(host: Host) -> list[str]:
    """Return the last of the driver's messages about errors of GPUs, which say more than a number that is too low."""
    try:
        messages = host.run("dmesg")
    except CommandFailed:
        return []
    return re.findall(r"NVRM: Xid.*", messages)[-3:]
