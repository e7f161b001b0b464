"""The program `llm_fleet_node.metrics` as the step `metrics` lays it down, and how it is asked what it does."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from llm_fleet_node.manifest_parts import Metrics
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER

UNIT = "llm-fleet-metrics.service"
UNIT_PATH = f"/etc/systemd/system/{UNIT}"
WANTED = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"
FOLDER = "/opt/llm-fleet/metrics"
"""Not the bundle: that may lie in /tmp, and this runs on when a newer one is laid beside it."""
SETTINGS = f"{FOLDER}/settings.json"
STATUS = "/run/llm-fleet-metrics/status.json"
_PACKAGE = "llm_fleet_node"
_FRESH = 180
"""Seconds. A program that has not measured for three minutes hangs."""


@dataclass(frozen=True)
class Looked:
    """What the program says of its last look."""

    values: int
    absent: Mapping[str, str]
    """Why sources told nothing, by their names."""
    broken: tuple[str, ...]
    """Which of them should have."""
    trouble: Optional[str]
    """Why values were not taken; `None` when they were."""


def files(node: Node) -> dict[str, str]:
    """Return all files of the program, with settings and unit, by their paths on the node."""
    assert node.manifest.metrics is not None
    package = node.places.bundle / _PACKAGE
    sources = [package / "__init__.py", *sorted((package / "metrics").rglob("*.py"))]
    written = {f"{FOLDER}/{_PACKAGE}/{path.relative_to(package)}": path.read_text(encoding="utf-8") for path in sources}
    return {**written, SETTINGS: _settings(node, node.manifest.metrics), UNIT_PATH: _unit()}


def looked(node: Node) -> Optional[Looked]:
    """Return what the program said last; `None` when it has not measured lately, with the settings that it has now."""
    try:
        reported: dict[str, Any] = json.loads(node.host.read(STATUS) or "{}")
    except ValueError:
        return None
    if not reported or reported["settings"] != _fingerprint(node.host.read(SETTINGS) or ""):
        return None
    if reported["measured"] / 1000 < time.time() - _FRESH or not reported["values"]:
        return None
    return Looked(reported["values"], reported["absent"], tuple(reported["broken"]), reported["trouble"])


def _fingerprint(text: str) -> str:
    """As `metrics/settings.py` does: the program itself is never loaded by the steps, of which each start loads all."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _settings(node: Node, metrics: Metrics) -> str:
    reported: dict[str, Any] = {
        "destination": metrics.destination,
        "region": node.manifest.region,
        "fleet": node.manifest.fleet,
        "cluster": metrics.cluster,
        "group": node.group.name,
        "role": node.role,
        "node": node.identity.instance_id or os.uname().nodename,
        "instance_type": node.identity.instance_type or "",
        "namespace": metrics.namespace,
        "log_group": metrics.log_group,
        "remote_write_url": metrics.remote_write_url,
        "seconds": metrics.seconds,
        "ask_slurm": _asks_slurm(node),
        # Another bundle's program is another program: what this one says is its own word then.
        "bundle": node.manifest.content_hash,
    }
    return json.dumps(reported, indent=1) + "\n"


def _asks_slurm(node: Node) -> bool:
    """One node tells of the queue: the controller, and of several the first."""
    if node.role != CONTROLLER:
        return False
    first = node.identity.controllers[:1]
    return not first or first[0] in node.identity.addresses


def _unit() -> str:
    """Root, since Lustre's counters, the role's credentials on ParallelCluster's head node and Neuron's driver are
    for root alone. TasksMax counts threads: a program in Go starts some for each processor, of which a node has up to
    192, and dies where it gets no more. `ProtectHome` is left out: it would touch /home, which may hang."""
    return f"""\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: what this node measures of itself
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={sys.executable} -E -s -B -m {_PACKAGE}.metrics {SETTINGS} {os.path.dirname(STATUS)}
WorkingDirectory={FOLDER}
RuntimeDirectory=llm-fleet-metrics
Restart=always
RestartSec=30
TimeoutStopSec=10
Nice=19
IOSchedulingClass=idle
CPUQuota=20%
MemoryMax=512M
TasksMax=1024
NoNewPrivileges=yes
ProtectSystem=full
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
"""
