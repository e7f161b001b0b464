"""Prints the Session Manager target of this node, with placeholders in capitals for values this user cannot read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_ROOT = Path(os.environ.get("LLM_FLEET_ROOT") or "/")
_REPORT = _ROOT / "var/log/llm-fleet/report.json"
_RESOURCES = _ROOT / "opt/ml/config/resource_config.json"


def target() -> str:
    """HyperPod: `sagemaker-cluster:<cluster id>_<group>-<instance id>`; otherwise the instance id."""
    node: dict[str, Any] = _read(_REPORT).get("node") or {}
    instance: str = node.get("instance_id") or "INSTANCE"
    if os.environ.get("LLM_FLEET_PLATFORM") != "hyperpod":
        return instance
    cluster: dict[str, Any] = _read(_RESOURCES).get("ClusterConfig") or {}
    arn: str = cluster.get("ClusterArn") or "CLUSTER"
    return f"sagemaker-cluster:{arn.rpartition('/')[2]}_{node.get('group') or 'GROUP'}-{instance}"


def _read(place: Path) -> dict[str, Any]:
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    print(target())
