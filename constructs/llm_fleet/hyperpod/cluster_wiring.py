"""What a cluster requires: its scripts, the configuration of its nodes, its execution role, ports and keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IConstruct, IDependable

from llm_fleet.accounting.accounting import allow_database_clients
from llm_fleet.accounting.database_server import schema_of
from llm_fleet.catalog.data_file import load
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.iam.node_role import NodeFeatures, NodeRole, mirror_of, mounted_buckets
from llm_fleet.iam.statements import BucketAccess, SecretAccess
from llm_fleet.lifecycle.cluster_metrics import metrics_permissions, report_place
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.lifecycle.training_runtime import image_repositories
from llm_fleet.network.network import ExistingNetwork
from llm_fleet.network.security_group import allow_traffic
from llm_fleet.references import bucket_of, guard_of
from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.terms import NodeReports
from llm_fleet.spec.references import KEY, SECURITY_GROUP, Key, Secret
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.storage.file_systems import next_to_primary


def manifest_of(scope: Construct, plan: ClusterPlan, bucket: s3.IBucket) -> NodeManifest:
    """Return the configuration of the nodes of `plan`; they write their reports to `bucket`."""
    return NodeManifest(
        fleet_name=plan.fleet_name,
        cluster_name=plan.cluster_name,
        region=plan.shape.region or cdk.Aws.REGION,
        groups=plan.shape.node_groups,
        mounts=plan.shape.node_mounts,
        accounting=_accounting(scope, plan.spec.accounting_database),
        spec=plan.spec,
        scripts=plan.spec.scripts,
        report_place=report_place(plan.spec.reports, bucket, reports_prefix(scope, plan)),
    )


def efa_clients(plan: ClusterPlan) -> list[EfaClients]:
    """Return the nodes of `plan` that mount its Lustre file system, which has EFA."""
    return [
        EfaClients(name=group.name, instance_types=group.types, nodes=group.count)
        for group in plan.shape.groups
        if group.mount_lustre
    ]


def reports_prefix(scope: Construct, plan: ClusterPlan) -> str:
    """Return the part of the scripts' bucket below which the nodes of `plan` write reports; no slash at either end."""
    # A CDK token cannot be checked or read in a key: the construct's address is used then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, plan.cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


def _accounting(scope: Construct, database: AccountingDatabase | None) -> AccountingDatabase | Literal["local"]:
    return database.narrowed(AccountingDatabase, database_name=schema_of(scope, database)) if database else "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScripts:
    """Scripts in their bucket. The URI of an uploaded bundle is a token that depends on the upload."""

    source_s3_uri: str
    access: BucketAccess
    """What nodes read."""
    reports: BucketAccess | None = None
    """Where nodes write reports; `None` for no reports."""


def add_bundle(scope: Construct, plan: ClusterPlan) -> PlacedScripts | None:
    """Upload the bundle of `plan`, or use the user's own; `None` when no group runs a script."""
    scripts = plan.spec.scripts
    if not any(group.hook for group in plan.shape.groups):
        return None
    bucket = bucket_of(scope, scripts.bucket)
    if bucket is not None and scripts.prefix is not None:
        prefix = scripts.prefix.strip("/")
        return PlacedScripts(
            source_s3_uri=bucket.s3_url_for_object(prefix), access=BucketAccess.of(bucket, prefix=prefix)
        )
    bucket = bucket or LifecycleBucket(scope, "LifecycleBucket", name_part=_name_part(scope, plan)).bucket
    bundle = LifecycleBundle(scope, "LifecycleBundle", bucket=bucket, manifest=manifest_of(scope, plan, bucket))
    # All bundles of this cluster, not just the newest: a node that is replaced during an update starts with the old.
    access = BucketAccess.of(bucket, prefix=bundle.root)
    return PlacedScripts(
        source_s3_uri=bundle.source_s3_uri,
        access=access,
        reports=None
        if plan.spec.reports is NodeReports.NONE
        else BucketAccess.of(bucket, prefix=reports_prefix(scope, plan)),
    )


def _name_part(scope: Construct, plan: ClusterPlan) -> str:
    """Return the base of the bucket's name: the cluster's name, or the construct's id if the name is a token."""
    name = plan.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()


def add_node_role(
    scope: Construct,
    plan: ClusterPlan,
    scripts: PlacedScripts | None,
    read_buckets: Sequence[s3.IBucket],
    write_buckets: Sequence[s3.IBucket],
) -> NodeRole:
    """Make the role of the nodes of `plan`."""
    spec = plan.spec
    database, requested, training = spec.accounting_database, spec.directory, spec.training
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
            directory_secret=_secret(requested.bind_secret, requested.bind_secret_key) if requested else None,
            hub_token_secret=_secret(training.hub_token_secret if training else None),
            image_repositories=image_repositories(
                training, region=plan.shape.region, partition=cdk.Stack.of(scope).partition
            ),
            rollback_alarms=_alarms(plan),
            **metrics_permissions(spec.metrics, cluster_name=plan.cluster_name),
        ),
    )
    _allow_volume_keys(node_role, plan)
    return node_role


def _secret(secret: Secret | None, key: Key | None = None) -> SecretAccess | None:
    """Return the access to `secret`; `key` encrypts a secret that is given by its ARN."""
    if secret is None:
        return None
    access = SecretAccess.of(cast("secretsmanager.ISecret | str", secret))
    return access if key is None else replace(access, key_arn=KEY.name_of(key))


def _alarms(plan: ClusterPlan) -> tuple[str, ...]:
    updates = [update for group in plan.shape.groups for update in (group.scheduled_update, group.auto_patch)]
    names = [name for update in updates if update and update.deployment for name in update.deployment.alarm_names]
    return tuple(dict.fromkeys(names))


def _allow_volume_keys(node_role: NodeRole, plan: ClusterPlan) -> None:
    """Let HyperPod use the volumes' keys with the execution role, as the developer guide requires.

    A managed policy, because NIST 800-53 requires no inline policies.
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
    # By id: a group that is imported twice is still one, and EC2 rejects its rules the second time.
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
        # Within one group its self-rules are enough.
        for source, target in ((other, one), (one, other)):
            rules.append(allow_traffic(_home(one, other), source, target, what="nodes of one cluster"))
    for file_system in (plan.lustre, plan.open_zfs):
        for group in groups if file_system else ():
            file_system.allow_mount_from(group)  # pyright: ignore[reportOptionalMemberAccess]
    database = plan.spec.accounting_database
    guard = guard_of(scope, "AccountingGuard", database.connections) if database is not None else None
    if database is not None and guard is not None:
        rules += allow_database_clients(scope, groups, guard, port=database.effective_port)
    return rules


def _home(one: ec2.ISecurityGroup, other: ec2.ISecurityGroup) -> ec2.ISecurityGroup:
    """Return the group whose stack has the rules between both, so that clusters that share the groups share the rules.

    A group that a stack creates has priority, because each cluster may import the other one again. Otherwise it is
    `other`, which must be imported once for all clusters.
    """
    made = [group for group in (one, other) if is_unresolved(group.security_group_id)]
    return made[-1] if made else other


def wait_for(resource: sagemaker.CfnCluster, plan: ClusterPlan, role: IConstruct, rules: Sequence[IConstruct]) -> None:
    """Make the cluster depend on resources that its nodes need at boot and that its properties do not refer to.

    The properties refer to subnets, the role with its policy, the bundle and file systems; CloudFormation waits for
    those.
    """
    resource.node.add_dependency(*_unnamed(plan, role), *rules)


def _unnamed(plan: ClusterPlan, role: IConstruct) -> Iterator[IDependable]:
    if plan.network is not None:
        yield plan.network.connectivity
        yield plan.network.security_group_rules
    yield from next_to_primary(role)
    if plan.spec.accounting_database is not None:
        yield from plan.spec.accounting_database.servers
    for file_system in (plan.lustre, plan.open_zfs):
        if isinstance(file_system, Construct):
            yield from next_to_primary(file_system)
