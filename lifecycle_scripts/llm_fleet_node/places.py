"""Paths on a node. Tests and the drill change them with environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The paths that are read or written."""

    root: Path
    """The root folder of the node's file system."""
    bundle: Path
    """The folder that HyperPod copied from S3, e.g. `/tmp/<bucket>/<prefix>/`."""
    resource_config: Path
    """Written by the platform: the cluster, its groups and their instances."""
    node_info: Path
    """Written by AWS's detect-node extension, if it was run."""
    provisioning_parameters: Path
    """Written by the platform or the user: the roles of the groups."""
    product_name: Path
    """The EC2 instance type, from the firmware."""
    addresses: Path
    """The kernel's table of IPv4 addresses."""
    parallelcluster: Path
    """Written by AWS ParallelCluster: the node's type and queue, as `name=value` lines. AWS calls it unsupported."""
    host_name: Path
    """The kernel's host name, which contains ParallelCluster's queue and node number."""
    slurm_node_name: Path
    """Written by AWS ParallelCluster on nodes of queues: their name in Slurm, which can differ from the host name."""
    log_dir: Path
    """The folder of report and log."""
    state_dir: Path
    """The folder of the runner's state, which survives reboots."""

    @classmethod
    def of_this_node(cls) -> Places:
        """Return the paths, below `LLM_FLEET_ROOT` if it is set."""
        root = Path(os.environ.get("LLM_FLEET_ROOT", "/"))
        config = root / "opt/ml/config"
        return cls(
            root=root,
            bundle=Path(__file__).resolve().parent.parent,
            resource_config=Path(os.environ.get("SAGEMAKER_RESOURCE_CONFIG_PATH", config / "resource_config.json")),
            node_info=config / "nodeinfo.json",
            provisioning_parameters=config / "provisioning_parameters.json",
            product_name=root / "sys/devices/virtual/dmi/id/product_name",
            addresses=root / "proc/net/fib_trie",
            parallelcluster=root / "etc/parallelcluster/cfnconfig",
            host_name=root / "proc/sys/kernel/hostname",
            slurm_node_name=root / "etc/parallelcluster/slurm_plugin/slurm_nodename",
            state_dir=root / "var/lib/llm-fleet",
            log_dir=Path(os.environ.get("LLM_FLEET_LOG_DIR", root / "var/log/llm-fleet")),
        )
