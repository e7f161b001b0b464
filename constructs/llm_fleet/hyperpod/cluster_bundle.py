"""What the nodes of a cluster are told, and where they find their scripts."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.accounting.database_server import schema_of
from llm_fleet.catalog.data_file import load
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.iam.statements import BucketAccess
from llm_fleet.lifecycle.cluster_metrics import report_place
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeAccounting, NodeGroup, NodeManifest, NodeMount
from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.terms import NodeReports
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.hyperpod_cluster import Mount
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase


def manifest_of(scope: Construct, plan: ClusterPlan, bucket: s3.IBucket) -> NodeManifest:
    """Return what the nodes of `plan` are told; they leave their reports in `bucket`."""
    lifecycle = plan.lifecycle or LifecycleScripts()
    return NodeManifest(
        fleet_name=plan.fleet_name,
        cluster_name=plan.cluster_name,
        region=plan.shape.region or cdk.Aws.REGION,
        groups=[_group(group) for group in plan.shape.groups],
        mounts=[_mount(mount, plan) for mount in plan.shape.mounts],
        s3_mounts=plan.setup.s3_mounts,
        accounting=_accounting(scope, plan.shape.accounting_database),
        users=plan.setup.users,
        slurm_accounts=plan.setup.slurm_accounts,
        directory=plan.setup.directory,
        neuron=plan.setup.neuron,
        training=plan.setup.training,
        downloads=plan.setup.downloads,
        reports=report_place(lifecycle.reports, bucket, reports_prefix(scope, plan)),
        metrics=plan.setup.metrics,
        skip_steps=lifecycle.skip_steps,
        own_steps=lifecycle.own_steps,
    )


def efa_clients(plan: ClusterPlan) -> list[EfaClients]:
    """Return the nodes of `plan` that mount its Lustre file system, which has EFA."""
    return [
        EfaClients(name=group.name, instance_types=group.types, nodes=group.count)
        for group in plan.shape.groups
        if group.mount_lustre
    ]


def reports_prefix(scope: Construct, plan: ClusterPlan) -> str:
    """Return the part of the scripts' bucket below which the nodes of `plan` leave reports; no slash at either end."""
    # A name that only the deployment knows cannot be checked, nor read by people: the construct's address then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, plan.cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


def _group(group: InstanceGroup) -> NodeGroup:
    return NodeGroup(
        name=group.name,
        role=group.node_type,
        # Not as plain strings: a type made by `InstanceType.of` brings its own facts.
        instance_types=group.types,
        partition=group.partition,
        hook=group.hook,
        script=group.script,
    )


def _mount(mount: Mount, plan: ClusterPlan) -> NodeMount:
    mounting = [group.name for group in plan.shape.groups if group.mounts(mount.kind)]
    return NodeMount(
        kind=mount.kind,
        dns_name=mount.dns_name,
        mount_path=mount.mount_path,
        mount_name=mount.mount_name,
        efa=mount.efa,
        groups=None if len(mounting) == len(plan.shape.groups) else mounting,
    )


def _accounting(scope: Construct, database: AccountingDatabase | None) -> NodeAccounting:
    if database is None:
        return NodeAccounting.local()
    return NodeAccounting.external(
        endpoint=database.endpoint,
        port=database.effective_port,
        database=schema_of(scope, database),
        secret_arn=database.secret_arn,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScripts:
    """Scripts in their bucket. The URI of an uploaded bundle is a token that waits for the upload."""

    source_s3_uri: str
    access: BucketAccess
    """What nodes read."""
    reports: BucketAccess | None = None
    """Where nodes leave reports; `None` for nowhere."""


def add_bundle(scope: Construct, plan: ClusterPlan) -> PlacedScripts | None:
    """Upload the bundle of `plan`, or point at the user's own; `None` when no group runs a script."""
    lifecycle = plan.lifecycle
    if lifecycle is None or not any(group.hook for group in plan.shape.groups):
        return None
    if lifecycle.bucket is not None and lifecycle.prefix is not None:
        uri = lifecycle.bucket.s3_url_for_object(lifecycle.prefix.strip("/"))
        access = BucketAccess.of(lifecycle.bucket, prefix=lifecycle.prefix.strip("/"))
        return PlacedScripts(source_s3_uri=uri, access=access)
    bucket = lifecycle.bucket or LifecycleBucket(scope, "LifecycleBucket", name_part=_name_part(scope, plan)).bucket
    bundle = LifecycleBundle(
        scope,
        "LifecycleBundle",
        bucket=bucket,
        manifest=manifest_of(scope, plan, bucket),
        scripts=lifecycle.scripts,
        own_scripts=lifecycle.own_scripts,
    )
    # All bundles of this cluster, not just the newest: a node that is replaced during an update starts with the old.
    access = BucketAccess.of(bucket, prefix=bundle.root)
    return PlacedScripts(
        source_s3_uri=bundle.source_s3_uri,
        access=access,
        reports=None
        if lifecycle.reports == NodeReports.NONE
        else BucketAccess.of(bucket, prefix=reports_prefix(scope, plan)),
    )


def _name_part(scope: Construct, plan: ClusterPlan) -> str:
    """Return what the bucket is called after: the cluster, or its construct when the name is a token."""
    name = plan.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()
