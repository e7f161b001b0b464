"""Finds the node that jobs are submitted on, and what Session Manager calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.failure import refuse
from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import NodeType

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_sagemaker import SageMakerClient

_ORDER = (NodeType.LOGIN, NodeType.CONTROLLER)
"""A login node is where users work; a cluster without one is used on its controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node."""

    name: str
    """For people, e.g. `login-group i-0123456789abcdef0`."""
    ssm: str
    """For `aws ssm start-session --target`."""
    region: str


def find_target(cluster: HyperPodConfig | ParallelClusterConfig, region: str) -> Target:
    """Return the node of `cluster` to submit on. Raises `FleetError` (LF886), or what AWS refuses."""
    if isinstance(cluster, HyperPodConfig):
        return _of_hyperpod(cluster, region)
    return _of_parallelcluster(cluster.cluster_name, region)


def _of_hyperpod(cluster: HyperPodConfig, region: str) -> Target:
    name = cluster.cluster_name
    with told_of_aws(f"cluster {name}"):
        import boto3

        client: SageMakerClient = boto3.client("sagemaker", region_name=region)
        cluster_id = client.describe_cluster(ClusterName=name)["ClusterArn"].rpartition("/")[2]
        pages = client.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
        nodes: list[Mapping[str, Any]] = [node for page in pages for node in page["ClusterNodeSummaries"]]
    roles = {group.name: group.node_type for group in cluster.groups.values()}
    for role in _ORDER:
        for node in nodes:
            group = node["InstanceGroupName"]
            if roles.get(group) == role and node["InstanceStatus"]["Status"] == "Running":
                instance = node["InstanceId"]
                ssm = f"sagemaker-cluster:{cluster_id}_{group}-{instance}"
                return Target(name=f"{group} {instance}", ssm=ssm, region=region)
    refuse(
        Code.JOBS_TARGET,
        f"no login node or controller of this cluster runs: {_states(nodes, roles)}",
        "wait until its controller is Running, "
        f"`aws sagemaker list-cluster-nodes --cluster-name {name} --region {region}` shows it",
        subject=f"cluster {name}",
    )


def _states(nodes: Sequence[Mapping[str, Any]], roles: Mapping[str, NodeType | None]) -> str:
    found = [
        f"{node['InstanceGroupName']} is {node['InstanceStatus']['Status']}"
        for node in nodes
        if roles.get(node["InstanceGroupName"]) in _ORDER
    ]
    return ", ".join(found) or "it has none"


def _of_parallelcluster(name: str, region: str) -> Target:
    # Its name ends in the hash of what no update changes (`ClusterIdentity`), which only a synth could tell.
    filters = [
        {"Name": "tag:parallelcluster:cluster-name", "Values": [f"{name}-????????"]},
        {"Name": "tag:parallelcluster:node-type", "Values": ["HeadNode"]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    with told_of_aws(f"cluster {name}"):
        import boto3

        client: EC2Client = boto3.client("ec2", region_name=region)
        shown = client.describe_instances(Filters=cast("Any", filters))
    found = [instance for reservation in shown["Reservations"] for instance in reservation.get("Instances", [])]
    if not found:
        refuse(
            Code.JOBS_TARGET,
            "no head node of this cluster runs in the region",
            f"deploy the cluster; `aws ec2 describe-instances --region {region}` shows its head node",
            subject=f"cluster {name}",
        )
    # Two for as long as a new cluster takes the place of an old one: the new one's.
    instance: str = max(cast("list[Any]", found), key=lambda one: one["LaunchTime"])["InstanceId"]
    return Target(name=f"head node {instance}", ssm=instance, region=region)
