"""What the nodes of a cluster are told, and where they find their scripts."""

from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.accounting.database_server import schema_of
from llm_fleet.catalog.data_file import load
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.iam.statements import BucketAccess
from llm_fleet.lifecycle.cluster_metrics import report_place
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.references import bucket_of
from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.terms import NodeReports
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.slurm_database import AccountingDatabase


def manifest_of(scope: Construct, plan: ClusterPlan, bucket: s3.IBucket) -> NodeManifest:
    """Return what the nodes of `plan` are told; they leave their reports in `bucket`."""
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
    """Return the part of the scripts' bucket below which the nodes of `plan` leave reports; no slash at either end."""
    # A name that only the deployment knows cannot be checked, nor read by people: the construct's address then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, plan.cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


def _accounting(scope: Construct, database: AccountingDatabase | None) -> AccountingDatabase | Literal["local"]:
    return database.narrowed(AccountingDatabase, database_name=schema_of(scope, database)) if database else "local"


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
    """Return what the bucket is called after: the cluster, or its construct when the name is a token."""
    name = plan.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()
