"""Puts the scripts of a cluster where its nodes find them."""

from dataclasses import dataclass

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.hyperpod.instance_group import InstanceGroup
from llm_fleet.iam.access import BucketAccess
from llm_fleet.lifecycle.lifecycle_bucket import LifecycleBucket
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeGroup, NodeManifest, NodeMount
from llm_fleet.rules.terms import LifecycleHook
from llm_fleet.rules.tokens import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScripts:
    """Scripts in their bucket. The URI of an uploaded bundle is a token that waits for the upload."""

    source_s3_uri: str
    access: BucketAccess


def add_bundle(scope: Construct, plan: ClusterPlan) -> PlacedScripts | None:
    """Upload the bundle of `plan`, or point at the user's own; `None` when no group runs a script."""
    lifecycle = plan.lifecycle
    if lifecycle is None or not any(map(_hook, plan.shape.groups)):
        return None
    if lifecycle.bucket is not None and lifecycle.prefix is not None:
        uri = lifecycle.bucket.s3_url_for_object(lifecycle.prefix.strip("/"))
        access = BucketAccess.of(lifecycle.bucket, prefix=lifecycle.prefix.strip("/"))
        return PlacedScripts(source_s3_uri=uri, access=access)
    bucket = lifecycle.bucket or LifecycleBucket(scope, "LifecycleBucket", name_part=_name_part(scope, plan)).bucket
    bundle = LifecycleBundle(
        scope, "LifecycleBundle", bucket=bucket, manifest=manifest_of(plan), scripts=lifecycle.scripts
    )
    # All bundles of this cluster, not just the newest: a node that is replaced during an update starts with the old.
    access = BucketAccess.of(bucket, prefix=bundle.root)
    return PlacedScripts(source_s3_uri=bundle.source_s3_uri, access=access)


def manifest_of(plan: ClusterPlan) -> NodeManifest:
    """Return what the nodes of `plan` are told."""
    return NodeManifest(
        fleet_name=plan.fleet_name,
        cluster_name=plan.cluster_name,
        region=plan.shape.region or cdk.Aws.REGION,
        groups=[
            NodeGroup(
                name=group.name,
                role=group.node_type,
                # Not as plain strings: a type made by `InstanceType.of` brings its own facts.
                instance_types=tuple(group.instance_types or (group.instance_type or "",)),
                partition=group.partition,
                hook=_hook(group),
                script=group.on_create or group.on_init_complete,
            )
            for group in plan.shape.groups
        ],
        mounts=[
            NodeMount(
                kind=mount.kind,
                dns_name=mount.dns_name,
                mount_path=mount.mount_path,
                mount_name=mount.mount_name,
                efa=mount.efa,
            )
            for mount in plan.shape.mounts
        ],
    )


def _hook(group: InstanceGroup) -> LifecycleHook | None:
    if group.on_create is not None:
        return LifecycleHook.ON_CREATE
    return LifecycleHook.ON_INIT_COMPLETE if group.on_init_complete is not None else None


def _name_part(scope: Construct, plan: ClusterPlan) -> str:
    """Return what the bucket is called after: the cluster, or its construct when the name is a token."""
    name = plan.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()
