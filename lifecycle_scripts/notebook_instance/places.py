"""Paths on a notebook instance. `LLM_FLEET_ROOT` sets another root folder, for tests."""

from __future__ import annotations

import os
from pathlib import Path


def at(path: str) -> Path:
    """Return `path`, an absolute one, below the root."""
    return Path(os.environ.get("LLM_FLEET_ROOT", "/") + "/" + path.lstrip("/"))


SETTINGS = "/etc/llm-fleet/notebook.json"
"""Settings of this instance, from the construct."""
CONSTRAINTS = "/etc/llm-fleet/constraints.txt"
"""Versions of the pinned packages, as constraints of pip."""
PIP_CONF = "/etc/pip.conf"
"""pip's configuration for every Python on the machine, kernels and terminals alike (pip: Configuration, "Global")."""
SDK_CONF = "/etc/xdg/sagemaker/config.yaml"
"""The SDK's configuration for all users (SageMaker Python SDK 2.x, sagemaker/config/config.py: platformdirs)."""
METADATA = "/opt/ml/metadata/resource-metadata.json"
"""Written by SageMaker, with `ResourceName` and `ResourceArn`."""
STATE = "/run/llm-fleet/auto-stop.json"
"""Time when Jupyter answered last; removed when the instance stops."""
UPTIME = "/proc/uptime"
RUNTIME = "/home/ec2-user/.local/share/jupyter/runtime"
"""Where a Jupyter server writes its port and token (jupyter_core: paths, on Linux)."""
