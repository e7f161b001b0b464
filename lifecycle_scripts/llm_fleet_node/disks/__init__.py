"""The disk for large data: one choice for Docker, containerd, Enroot, caches and scratch."""

from __future__ import annotations

import json

from llm_fleet_node.disks.layout import Layout
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

FILE = "/etc/llm-fleet/disks.json"
"""Written by the step `disks`."""


def read(host: Host) -> Layout:
    """Return the layout that the step `disks` has written. Raises `Failure` if it has not."""
    text = host.read(FILE)
    if text is None:
        fail(Code.DISK_MISSING, f"{FILE} does not exist: the step `disks` has not chosen the disk for large data")
    try:
        return Layout(**json.loads(text))
    except (ValueError, TypeError) as error:
        fail(Code.DISK_MISSING, f"{FILE} is not valid: {error}")
