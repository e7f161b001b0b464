"""The role of a cluster's nodes, who of them may talk to whom, and what must exist before a cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IConstruct, IDependable

from llm_fleet.accounting.accounting import let_in
from llm_fleet.hyperpod.cluster_bundle import PlacedScripts
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.iam.node_role import NodeFeatures, NodeRole, mirror_of, mounted_buckets
from llm_fleet.iam.statements import BucketAccess, SecretAccess
from llm_fleet.lifecycle.cluster_metrics import metrics_rights
from llm_fleet.lifecycle.training_runtime import image_repositories
from llm_fleet.network.network import ExistingNetwork
from llm_fleet.network.security_group import let_through
from llm_fleet.references import guard_of
from llm_fleet.rules.terms import NodeReports
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.references import KEY, SECURITY_GROUP, Key, Secret
from llm_fleet.storage.file_systems import beside_primary


def add_node_role(
    scope: Construct,
    plan: ClusterPlan,
    scripts: PlacedScripts | None,
    read_buckets: Sequence[s3.IBucket],
    write_buckets: Sequence[s3.IBucket],
) -> NodeRole:
    """Make the role of the nodes of `plan`."""
    spec = plan.spec
    database, asked, training = spec.accounting_database, spec.directory, spec.training
    node_role = NodeRole(
        scope,
        "NodeRole",
        features=NodeFeatures(
            cluster_name=plan.cluster_name,
            bundle=scripts.access if scripts else None,
            vpc=plan.network is not None,
            existing_subnets=isinstance(plan.network, ExistingNetwork)
            or any(group.subnets for group in plan.shape.groups),
            efa_file_system=plan.lustre is not None and plan.lustre.efa_enabled,
            read_buckets=(*map(BucketAccess.of, read_buckets), *mounted_buckets(scope, spec, read_only=True)),
            write_buckets=(*map(BucketAccess.of, write_buckets), *mounted_buckets(scope, spec, read_only=False)),
            mirror=mirror_of(scope, spec),
            reports=scripts.reports if scripts else None,
            report_events=spec.reports is NodeReports.ALL,
            accounting_secret=_secret(database.secret if database else None),
            directory_secret=_secret(asked.bind_secret, asked.bind_secret_key) if asked else None,
            hub_token_secret=_secret(training.hub_token_secret if training else None),
            image_repositories=image_repositories(
                training, region=plan.shape.region, partition=cdk.Stack.of(scope).partition
            ),
            rollback_alarms=_alarms(plan),
            **metrics_rights(spec.metrics, cluster_name=plan.cluster_name),
        ),
    )
    _allow_volume_keys(node_role, plan)
    return node_role


def _secret(secret: Secret | None, key: Key | None = None) -> SecretAccess | None:
    """Return the access to `secret`; `key` encrypts one that is named by its ARN."""
    if secret is None:
        return None
    access = SecretAccess.of(cast("secretsmanager.ISecret | str", secret))
    return access if key is None else replace(access, key_arn=KEY.name_of(key))


def _alarms(plan: ClusterPlan) -> tuple[str, ...]:
    updates = [update for group in plan.shape.groups for update in (group.scheduled_update, group.auto_patch)]
    names = [name for update in updates if update and update.deployment for name in update.deployment.alarm_names]
    return tuple(dict.fromkeys(names))


def _allow_volume_keys(node_role: NodeRole, plan: ClusterPlan) -> None:
    """Let HyperPod use the volumes' keys in the role's name; asked for by the developer guide's page on them.

    A managed policy, since NIST 800-53 wants none inline.
    """
    keys = [key for group in plan.shape.groups for key in (group.root_volume_key, group.ebs_volume_key) if key]
    arns = list(dict.fromkeys(map(KEY.name_of, keys)))
    if arns:
        iam.ManagedPolicy(
            node_role,
            "VolumeKeyPolicy",
            description="Lets HyperPod encrypt the volumes of new nodes with keys of the account",
            roles=[node_role.role],
            statements=[
                iam.PolicyStatement(sid="VolumeKeys", actions=["kms:CreateGrant", "kms:DescribeKey"], resources=arns)
            ],
        )


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
    database = plan.spec.accounting_database
    guard = guard_of(scope, "AccountingGuard", database.connections) if database is not None else None
    if database is not None and guard is not None:
        rules += let_in(scope, groups, guard, port=database.effective_port)
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
    yield from beside_primary(role)
    if plan.spec.accounting_database is not None:
        yield from plan.spec.accounting_database.servers
    for file_system in (plan.lustre, plan.open_zfs):
        if isinstance(file_system, Construct):
            yield from beside_primary(file_system)
