"""Where things are on a notebook instance. `LLM_FLEET_ROOT` moves everything below another folder, for tests."""

from __future__ import annotations

import os
from pathlib import Path


def at(path: str) -> Path:
    """Return `path`, an absolute one, below the root."""
    return Path(os.environ.get("LLM_FLEET_ROOT", "/") + "/" + path.lstrip("/"))


SETTINGS = "/etc/llm-fleet/notebook.json"
"""What the construct says of this instance."""
CONSTRAINTS = "/etc/llm-fleet/constraints.txt"
"""What pip may install of the pinned packages."""
PIP_CONF = "/etc/pip.conf"
"""pip's configuration for every Python on the machine, kernels and terminals alike (pip: Configuration, "Global")."""
SDK_CONF = "/etc/xdg/sagemaker/config.yaml"
"""The SDK's configuration for all users (SageMaker Python SDK 2.x, sagemaker/config/config.py: platformdirs)."""
METADATA = "/opt/ml/metadata/resource-metadata.json"
"""What SageMaker says of this instance: `ResourceName` and `ResourceArn`."""
STATE = "/run/llm-fleet/auto-stop.json"
"""When Jupyter answered last; gone with a stop."""
UPTIME = "/proc/uptime"
RUNTIME = "/home/ec2-user/.local/share/jupyter/runtime"
"""Where a Jupyter server writes its port and token (jupyter_core: paths, on Linux)."""
