"""Emulates the configuration by the HyperPod AMI itself, before `OnInitComplete` runs the scripts."""

from pathlib import Path
from typing import Any

from llm_fleet_local.drill.cluster_view import ClusterView, Instance
from llm_fleet_local.drill.nodes.node import Node

_SCRIPT = Path(__file__).parent / "ami_configures.sh"


def configure(node: Node, instance: Instance, view: ClusterView) -> None:
    """Configure the node as its AMI would. Raises `CommandError`.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html
    (2026-05)
    Source: assumption hyperpod-ami-configures-by-itself
    """
    group = view.group(instance.group)
    mounts = [word for storage in group.storage for word in _mount(storage)]
    text = _SCRIPT.read_text(encoding="utf-8")
    node.run("bash", "-s", "--", group.role, view.controller.address, *mounts, input=text, timeout=120)


def _mount(storage: dict[str, Any]) -> list[str]:
    """Return device, mount point and type of each mount; default paths are those of the API."""
    if "FsxLustreConfig" in storage:
        lustre = storage["FsxLustreConfig"]
        return [f"{lustre['DnsName']}@tcp:/{lustre['MountName']}", lustre.get("MountPath", "/fsx"), "lustre"]
    if "FsxOpenZfsConfig" in storage:
        zfs = storage["FsxOpenZfsConfig"]
        return [f"{zfs['DnsName']}:/fsx", zfs.get("MountPath", "/home"), "nfs4"]
    return []
