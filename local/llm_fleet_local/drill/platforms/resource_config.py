"""`resource_config.json`, as HyperPod writes it to every node.

Format: as the public lifecycle scripts of awslabs/awsome-distributed-ai (July 2026) read it. Not compared with
a real node (assumption: hyperpod-agent-files).
"""

import json
from collections.abc import Collection
from typing import Any

from llm_fleet_local.drill.cluster_view import ClusterView, Group, Instance

PATH = "/opt/ml/config/resource_config.json"


def resource_config(view: ClusterView, *, listed: Collection[str] | None = None, slurm_config: bool = True) -> str:
    """Return the file's text. `listed`: names of the instances in it; default: all.

    A group without listed instances has `Instances: null`, as during the start of nodes. Without `slurm_config`, the
    file has no separate block with the controller's address. No document says when the platform writes that block.
    Source: assumption hyperpod-agent-files
    Source: assumption hyperpod-controller-address-in-slurm-config
    """
    groups = [_group(view, group, listed) for group in view.groups]
    slurm: dict[str, Any] = {"PrimaryControllerIp": view.controller.address, "SecondaryControllerIps": []}
    cluster: dict[str, Any] = {
        "ClusterName": view.name,
        "ClusterArn": view.arn,
        "ClusterType": "Slurm",
        **({"SlurmConfig": slurm} if slurm_config else {}),
    }
    return json.dumps({"ClusterConfig": cluster, "InstanceGroups": groups}, indent=2) + "\n"


def _group(view: ClusterView, group: Group, listed: Collection[str] | None) -> dict[str, Any]:
    instances = [
        _instance(one, group)
        for one in view.instances
        if one.group == group.name and (listed is None or one.name in listed)
    ]
    return {"Name": group.name, "InstanceType": group.instance_type, "Instances": instances or None}


def _instance(instance: Instance, group: Group) -> dict[str, Any]:
    return {
        "InstanceName": instance.name,
        "InstanceId": instance.instance_id,
        "AgentIpAddress": instance.agent_address,
        "CustomerIpAddress": instance.address,
        "InstanceLabel": _label(instance) if _accelerated(group) else None,
    }


def _accelerated(group: Group) -> bool:
    """Whether its nodes have labels of the network topology: accelerator nodes do, for others they are null."""
    family = group.instance_type.removeprefix("ml.")
    return family.startswith(("p", "trn", "g"))


def _label(instance: Instance) -> dict[str, str]:
    """Return labels with two leaves below one spine: enough for a topology in which the order matters."""
    leaf = instance.number % 2
    return {
        "network-node-layer-1": "nn-spine",
        "network-node-layer-2": "nn-aggregate",
        "network-node-layer-3": f"nn-leaf-{leaf}",
    }
