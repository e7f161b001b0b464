"""The role of a cluster's nodes, from what the cluster makes use of."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.hyperpod.cluster_bundle import PlacedScripts
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.iam.node_role import NodeRole
from llm_fleet.iam.permissions import NodeFeatures
from llm_fleet.iam.statements import BucketAccess, SecretAccess
from llm_fleet.lifecycle.cluster_metrics import metrics_rights
from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.lifecycle.people import Directory
from llm_fleet.lifecycle.training_runtime import TrainingRuntime, image_repositories
from llm_fleet.network.existing_network import ExistingNetwork
from llm_fleet.rules.terms import NodeReports
from llm_fleet.spec.references import KEY


def add_node_role(
    scope: Construct,
    plan: ClusterPlan,
    scripts: PlacedScripts | None,
    read_buckets: Sequence[s3.IBucket],
    write_buckets: Sequence[s3.IBucket],
) -> NodeRole:
    """Make the role of the nodes of `plan`."""
    database = plan.accounting_database
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
            read_buckets=(*map(BucketAccess.of, read_buckets), *_mounted(plan, read_only=True)),
            write_buckets=(*map(BucketAccess.of, write_buckets), *_mounted(plan, read_only=False)),
            mirror=_mirror(plan.setup.downloads),
            reports=scripts.reports if scripts else None,
            report_events=plan.lifecycle is not None and plan.lifecycle.reports == NodeReports.ALL,
            accounting_secret=SecretAccess.of(cast(secretsmanager.ISecret, database.secret)) if database else None,
            directory_secret=_directory(plan.setup.directory),
            hub_token_secret=_hub_token(plan.setup.training),
            image_repositories=image_repositories(
                plan.setup.training, region=plan.shape.region, partition=cdk.Stack.of(scope).partition
            ),
            rollback_alarms=_alarms(plan),
            **metrics_rights(plan.setup.metrics, cluster_name=plan.cluster_name),
        ),
    )
    _allow_volume_keys(node_role, plan)
    return node_role


def _mounted(plan: ClusterPlan, *, read_only: bool) -> list[BucketAccess]:
    """Return the parts of buckets that nodes see as folders."""
    mounts = [mount for mount in plan.setup.s3_mounts if mount.read_only is read_only]
    return [BucketAccess.of(mount.bucket, prefix=mount.key_prefix) for mount in mounts]


def _hub_token(training: TrainingRuntime | None) -> SecretAccess | None:
    secret = training.hub_token_secret if training is not None else None
    return None if secret is None else SecretAccess.of(secret)


def _directory(directory: Directory | None) -> SecretAccess | None:
    return None if directory is None else SecretAccess.of(cast(secretsmanager.ISecret, directory.bind_secret))


def _mirror(downloads: Downloads) -> BucketAccess | None:
    return BucketAccess.of(downloads.bucket, prefix=downloads.key_prefix) if downloads.bucket is not None else None


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
