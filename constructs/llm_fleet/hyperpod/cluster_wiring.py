"""Ties a cluster to its neighbours: who may talk to whom, and what must exist first."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IConstruct, IDependable

from llm_fleet.accounting.accounting_database import let_in
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.network.security_group import let_through
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.references import SECURITY_GROUP


def security_groups_of(scope: Construct, plan: ClusterPlan) -> tuple[ec2.ISecurityGroup, ...]:
    """Return the security groups of all nodes: the network's, then those of single groups, each once.

    A group that is named by its id is imported below `scope`.
    """
    # By id: a group that is imported twice is still one, and EC2 refuses its rules the second time.
    by_id: dict[str, Any] = {}
    for group in [plan.network.security_group] if plan.network else []:
        by_id[group.security_group_id] = group
    for group in (own for groups in plan.shape.groups for own in groups.security_groups):
        by_id.setdefault(SECURITY_GROUP.name_of(group), group)
    return tuple(
        ec2.SecurityGroup.from_security_group_id(scope, f"SecurityGroup-{id}", id) if isinstance(group, str) else group
        for id, group in by_id.items()
    )


def open_ports(scope: Construct, plan: ClusterPlan, groups: Sequence[ec2.ISecurityGroup]) -> list[Construct]:
    """Let the nodes of the cluster at `scope` reach each other across `groups`, their files and their database.

    Return the rules that the nodes need as soon as they boot.
    """
    rules: list[Construct] = []
    for one, other in combinations(groups, 2):
        # Within one group its self-rules do it.
        for source, target in ((other, one), (one, other)):
            rules.append(let_through(_home(one, other), source, target, what="nodes of one cluster"))
    for file_system in (plan.lustre, plan.open_zfs):
        for group in groups if file_system else ():
            file_system.allow_mount_from(group)  # pyright: ignore[reportOptionalMemberAccess]
    database = plan.accounting_database
    if database is not None and database.connections is not None:
        rules += let_in(scope, groups, database.connections, port=database.port or hyperpod_facts().accounting_port)
    return rules


def _home(one: ec2.ISecurityGroup, other: ec2.ISecurityGroup) -> ec2.ISecurityGroup:
    """Return the group beside which the rules between both stand, so that clusters which share the groups share them.

    Beside one that a stack makes, if there is one, because each cluster may import the other anew. Else beside
    `other`, which has to be imported once for all clusters.
    """
    made = [group for group in (one, other) if is_unresolved(group.security_group_id)]
    return made[-1] if made else other


def wait_for(resource: sagemaker.CfnCluster, plan: ClusterPlan, role: IConstruct, rules: Sequence[IConstruct]) -> None:
    """Make the cluster wait for what its nodes need as soon as they boot and that it does not name itself.

    It names its subnets, its role with the policy, the bundle and its file systems; CloudFormation waits for those.
    """
    resource.node.add_dependency(*_unnamed(plan, role), *rules)


def _unnamed(plan: ClusterPlan, role: IConstruct) -> Iterator[IDependable]:
    if plan.network is not None:
        yield plan.network.connectivity
        yield plan.network.security_group_rules
    yield from _beside_primary(role)
    if plan.accounting_database is not None:
        yield from plan.accounting_database.servers
    for file_system in (plan.lustre, plan.open_zfs):
        if isinstance(file_system, Construct):
            yield from _beside_primary(file_system)


def _beside_primary(construct: IConstruct) -> Iterator[IDependable]:
    """Return what belongs to `construct` besides its primary resource: policies of a role, rules of a file system."""
    primary = construct.node.default_child
    yield from (child for child in construct.node.children if child is not primary)
