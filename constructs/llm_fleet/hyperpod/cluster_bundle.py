"""Puts the scripts of a cluster where its nodes find them."""

from dataclasses import dataclass

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.hyperpod.cluster_manifest import manifest_of, reports_prefix
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.iam.statements import BucketAccess
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.rules.terms import NodeReports
from llm_fleet.rules.tokens import is_unresolved


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
