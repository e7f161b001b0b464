"""Ties a cluster to its neighbours: who may talk to whom, and what must exist as long as it does."""

from collections.abc import Iterator, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct, IDependable

from llm_fleet.parallelcluster.cluster_plan import ClusterPlan
from llm_fleet.spec.references import SECURITY_GROUP


def security_groups_of(scope: Construct, plan: ClusterPlan) -> tuple[ec2.ISecurityGroup, ...]:
    """Return the security groups of ours that nodes are in, each once, the network's first: all nodes are in that.

    One that is named by its id is imported below `scope`.
    """
    by_id: dict[str, Any] = {}
    for part in (plan.shape.head_node, *plan.shape.queues, *plan.shape.login_pools):
        for group in part.security_groups:
            by_id.setdefault(SECURITY_GROUP.name_of(group), group)
    return tuple(
        ec2.SecurityGroup.from_security_group_id(scope, f"SecurityGroup-{id}", id) if isinstance(group, str) else group
        for id, group in by_id.items()
    )


def open_ports(scope: Construct, plan: ClusterPlan) -> list[Construct]:
    """Let the nodes of the cluster at `scope` reach their files, and the head node its accounting.

    Return the rules that the nodes need as soon as they boot. Among themselves they talk by ParallelCluster's own
    security groups, EFA included; the network's group, which they all share, is what neighbours let in.
    """
    group = plan.network.security_group
    for file_system in plan.mounts.file_systems:
        file_system.allow_mount_from(group)
    return plan.accounting.open_ports(scope, [group]) if plan.accounting else []


def wait_for(resource: cdk.CfnResource, plan: ClusterPlan, others: Sequence[IDependable]) -> None:
    """Make the cluster wait for what its nodes need, and go before any of it does.

    CloudFormation sees what the configuration names by reference; what stands besides is named here, since a network
    or a rule that went first would leave nodes that cannot end, and network interfaces that cannot be deleted.
    """
    resource.node.add_dependency(*_unnamed(plan), *others)


def _unnamed(plan: ClusterPlan) -> Iterator[IDependable]:
    yield plan.network.connectivity
    yield plan.network.security_group_rules
    if plan.accounting is not None:
        yield from plan.accounting.servers
    for file_system in plan.mounts.file_systems:
        if isinstance(file_system, Construct):
            yield from _beside_primary(file_system)


def _beside_primary(construct: IConstruct) -> Iterator[IDependable]:
    """Return what belongs to `construct` besides its primary resource, e.g. rules of a file system."""
    primary = construct.node.default_child
    yield from (child for child in construct.node.children if child is not primary)
