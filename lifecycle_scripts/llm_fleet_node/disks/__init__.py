"""Where a node keeps what is large: one answer for Docker, containerd, Enroot, caches and scratch."""

from __future__ import annotations

import json

from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

FILE = "/etc/llm-fleet/disks.json"
"""Written by the step `disks`."""


def read(host: Host) -> Layout:
    """Return what the step `disks` decided. Raises `Failure` when it has not."""
    text = host.read(FILE)
    if text is None:
        fail(Code.DISK_MISSING, f"{FILE} is not there: the step `disks` has not decided where large data goes")
    try:
        return Layout(**json.loads(text))
    except (ValueError, TypeError) as error:
        fail(Code.DISK_MISSING, f"{FILE} cannot be understood: {error}")
