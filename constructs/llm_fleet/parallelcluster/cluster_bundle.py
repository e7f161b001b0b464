"""What nodes of a cluster fetch: the scripts, and the manifest of what they are set up with."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.data_file import load
from llm_fleet.iam.statements import BucketAccess
from llm_fleet.lifecycle.cluster_metrics import report_place
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan, further_shared_folders
from llm_fleet.parallelcluster.node_scripts import Hooks, NodeHooks, NodeScript
from llm_fleet.references import bucket_of
from llm_fleet.rules.parallelcluster.nodes import HEAD_NODE, node_groups, pool_group
from llm_fleet.rules.terms import NodePlatform, NodeReports, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.node_setup import NodeScripts


def manifest_of(
    scope: Construct, plan: ClusterPlan, scripts: NodeScripts, bucket: s3.IBucket, *, cluster_name: str
) -> NodeManifest:
    """Return what the nodes of `plan` are told; they leave their reports in `bucket`.

    `cluster_name` is ParallelCluster's own, with the hash: nodes compare it with what they were started as.
    """
    return NodeManifest(
        platform=NodePlatform.PARALLELCLUSTER,
        fleet_name=plan.fleet_name,
        cluster_name=cluster_name,
        region=plan.shape.region,
        groups=node_groups(plan.shape),
        mounts=plan.mounts.node_mounts(),
        shared_folders=further_shared_folders(plan.shape, plan.mounts),
        # ParallelCluster sets its own accounting up, from `Database` or `ExternalSlurmdbd`.
        accounting=None,
        spec=plan.shape,
        scripts=scripts,
        report_place=report_place(plan.shape.reports, bucket, reports_prefix(scope, plan, cluster_name)),
    )


def reports_prefix(scope: Construct, plan: ClusterPlan, cluster_name: str) -> str:
    """Return the part of the scripts' bucket below which nodes leave reports; no slash at either end."""
    # A name that only the deployment knows cannot be checked, nor read by people: the construct's address then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScripts:
    """The scripts in their bucket. Their URIs are tokens that wait for the upload."""

    bundle: LifecycleBundle
    hooks: Hooks
    """Which node runs what."""
    access: BucketAccess
    """What nodes read: all bundles of this cluster, as a node may start with the last one during an update."""
    reports: BucketAccess | None
    """Where nodes leave reports; `None` for nowhere."""


def scripts_bucket(scope: Construct, plan: ClusterPlan) -> s3.IBucket | None:
    """Return the bucket of the scripts of `plan`, made at `scope` unless told; `None` when no node runs any."""
    if plan.shape.scripts is None:
        return None
    told = bucket_of(scope, plan.shape.scripts.bucket)
    return told or LifecycleBucket(scope, "LifecycleBucket", name_part=_name_part(scope, plan)).bucket


def add_bundle(
    scope: Construct, plan: ClusterPlan, bucket: s3.IBucket | None, *, cluster_name: str
) -> PlacedScripts | None:
    """Upload the bundle of `plan` to `bucket`; `None` when no node runs a script."""
    scripts = plan.shape.scripts
    if scripts is None or bucket is None:
        return None
    manifest = manifest_of(scope, plan, scripts, bucket, cluster_name=cluster_name)
    bundle = LifecycleBundle(scope, "LifecycleBundle", bucket=bucket, manifest=manifest)
    silent = plan.shape.reports is NodeReports.NONE
    return PlacedScripts(
        bundle=bundle,
        hooks=_hooks(plan, bundle),
        access=BucketAccess.of(bucket, prefix=bundle.root),
        reports=None if silent else BucketAccess.of(bucket, prefix=reports_prefix(scope, plan, cluster_name)),
    )


def _hooks(plan: ClusterPlan, bundle: LifecycleBundle) -> Hooks:
    """Return which node runs what.

    ParallelCluster never changes `OnNodeConfigured` of the head node and of login pools, so those start at keys that
    stay, and read there which bundle is the newest. A changed bundle changes the arguments of `OnNodeUpdated` there,
    and of `OnNodeConfigured` of queues, whose nodes are then replaced.
    """
    return Hooks(
        head_node=_lasting(bundle, HEAD_NODE),
        queues={queue.name: _newest(bundle, queue.name) for queue in plan.shape.queues},
        login_pools={pool.name: _lasting(bundle, pool_group(pool)) for pool in plan.shape.login_pools},
    )


def _lasting(bundle: LifecycleBundle, group: str) -> NodeHooks:
    return NodeHooks(
        on_node_configured=NodeScript(script=bundle.entry_s3_uri, args=(bundle.pointer_s3_uri, group)),
        on_node_updated=_newest(bundle, group),
    )


def _newest(bundle: LifecycleBundle, group: str) -> NodeScript:
    entry = load("lifecycle")["parallelcluster_entry_points"][ParallelClusterHook.ON_NODE_CONFIGURED.value]
    # The URI ends with a slash.
    return NodeScript(
        script=f"{bundle.source_s3_uri}{entry}", args=(bundle.source_s3_uri, bundle.checksums_sha256, group)
    )


def _name_part(scope: Construct, plan: ClusterPlan) -> str:
    """Return what the bucket is called after: the cluster, or its construct when the name is a token."""
    name = plan.shape.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()
