"""Installation of the program `llm_fleet_node.metrics` by the step `metrics`, and its status."""

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
"""Not the bundle, which can be in /tmp, while this program keeps running after an update."""
SETTINGS = f"{FOLDER}/settings.json"
STATUS = "/run/llm-fleet-metrics/status.json"
_PACKAGE = "llm_fleet_node"
_FRESH = 180
"""Seconds. A program without new metrics for three minutes hangs."""


@dataclass(frozen=True)
class Looked:
    """The program's last status."""

    values: int
    absent: Mapping[str, str]
    """Why sources have no values, by their names."""
    broken: tuple[str, ...]
    """Names of the failed sources."""
    trouble: Optional[str]
    """Why values were not published; `None` if they were."""


def files(node: Node) -> dict[str, str]:
    """Return all files of the program, with settings and unit, by their paths on the node."""
    assert node.manifest.metrics is not None
    package = node.places.bundle / _PACKAGE
    sources = [package / "__init__.py", *sorted((package / "metrics").rglob("*.py"))]
    written = {f"{FOLDER}/{_PACKAGE}/{path.relative_to(package)}": path.read_text(encoding="utf-8") for path in sources}
    return {**written, SETTINGS: _settings(node, node.manifest.metrics), UNIT_PATH: _unit()}


def looked(node: Node) -> Optional[Looked]:
    """Return the program's last status; `None` if it has none that is recent and of its current settings."""
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
    """As in `metrics/settings.py`: steps do not import the program, because every start loads all steps."""
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
        # With the bundle in it, the status of another bundle's program does not match.
        "bundle": node.manifest.content_hash,
    }
    return json.dumps(reported, indent=1) + "\n"


def _asks_slurm(node: Node) -> bool:
    """One node reports the queue: the first controller."""
    if node.role != CONTROLLER:
        return False
    first = node.identity.controllers[:1]
    return not first or first[0] in node.identity.addresses


def _unit() -> str:
    """Root, because Lustre's counters, the role's credentials on ParallelCluster's head node and Neuron's driver are
    only for root. TasksMax counts threads: a Go program starts several for each of up to 192 processors, and crashes
    without them. No `ProtectHome`: it would access /home, which may hang."""
    return f"""\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: metrics of this node
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
