"""Ties a cluster to its neighbours: who may talk to whom, and what must exist first."""

from collections.abc import Iterator

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IConstruct, IDependable

from llm_fleet.hyperpod.cluster_base import ClusterBase
from llm_fleet.hyperpod.cluster_plan import ClusterPlan

_MYSQL_PORT = 3306
"""slurmdbd's and the API's default."""


def security_groups_of(plan: ClusterPlan) -> tuple[ec2.ISecurityGroup, ...]:
    """Return the security groups of all nodes: the network's, then those of single groups, each once."""
    groups = [plan.network.security_group] if plan.network else []
    for group in plan.shape.groups:
        groups += [own for own in group.security_groups if own not in groups]
    return tuple(groups)


def open_ports(cluster: ClusterBase, plan: ClusterPlan) -> None:
    """Let the nodes reach each other across security groups, their file systems and their database."""
    groups = security_groups_of(plan)
    for own in groups[1:]:
        # Slurm's daemons and EFA need every port between any two nodes; within one group its self-rules give it.
        own.connections.allow_from(groups[0], ec2.Port.all_traffic(), "nodes of the same cluster")
        groups[0].connections.allow_from(own, ec2.Port.all_traffic(), "nodes of the same cluster")
    for file_system in (plan.lustre, plan.open_zfs):
        for group in groups if file_system else ():
            file_system.allow_mount_from(group)  # pyright: ignore[reportOptionalMemberAccess]
    database = plan.shape.accounting_database
    if database is not None and database.connections is not None:
        port = ec2.Port.tcp(database.port or _MYSQL_PORT)
        database.connections.connections.allow_from(cluster.connections, port, "slurmdbd of the cluster's controller")


def wait_for(resource: sagemaker.CfnCluster, plan: ClusterPlan, role: IConstruct) -> None:
    """Make the cluster wait for what its nodes need as soon as they boot and that it does not name itself.

    It names its subnets, its role with the policy, the bundle and its file systems; CloudFormation waits for those.
    """
    resource.node.add_dependency(*_unnamed(plan, role))


def _unnamed(plan: ClusterPlan, role: IConstruct) -> Iterator[IDependable]:
    if plan.network is not None:
        yield plan.network.connectivity
        yield plan.network.security_group_rules
    yield from _beside_primary(role)
    for file_system in (plan.lustre, plan.open_zfs):
        if isinstance(file_system, Construct):
            yield from _beside_primary(file_system)


def _beside_primary(construct: IConstruct) -> Iterator[IDependable]:
    """Return what belongs to `construct` besides its primary resource: policies of a role, rules of a file system."""
    primary = construct.node.default_child
    yield from (child for child in construct.node.children if child is not primary)
