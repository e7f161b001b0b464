"""The configuration, scripts and IAM permissions of the nodes of a ParallelCluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.accounting.accounting import head_node_statements
from llm_fleet.catalog.data_file import load
from llm_fleet.iam.node_role import NodeFeatures, mirror_of, mounted_buckets, parallelcluster_permissions
from llm_fleet.iam.statements import BucketAccess, NamedPolicy, Permission, Place, SecretAccess
from llm_fleet.lifecycle.cluster_metrics import metrics_permissions, report_place
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.lifecycle.training_runtime import image_repositories
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan, additional_shared_folders
from llm_fleet.parallelcluster.provider import keys_of_storage, own_scripts
from llm_fleet.parallelcluster.render_configuration import Hooks, NodeHooks, NodePolicies, NodeScript
from llm_fleet.references import bucket_of
from llm_fleet.rules.parallelcluster.nodes import HEAD_NODE, node_groups, pool_group
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.terms import NodePlatform, NodeReports, ParallelClusterHook
from llm_fleet.spec.cluster import NodeScripts


def manifest_of(
    scope: Construct, plan: ClusterPlan, scripts: NodeScripts, bucket: s3.IBucket, *, cluster_name: str
) -> NodeManifest:
    """Return the configuration of the nodes of `plan`; they write their reports to `bucket`.

    `cluster_name` is ParallelCluster's own, with the hash: nodes compare it with the name that they were started with.
    """
    return NodeManifest(
        platform=NodePlatform.PARALLELCLUSTER,
        fleet_name=plan.fleet_name,
        cluster_name=cluster_name,
        region=plan.shape.region,
        groups=node_groups(plan.shape),
        mounts=plan.mounts.node_mounts(),
        shared_folders=additional_shared_folders(plan.shape, plan.mounts),
        # ParallelCluster configures its own accounting, from `Database` or `ExternalSlurmdbd`.
        accounting=None,
        spec=plan.shape,
        scripts=scripts,
        report_place=report_place(plan.shape.reports, bucket, reports_prefix(scope, plan, cluster_name)),
    )


def reports_prefix(scope: Construct, plan: ClusterPlan, cluster_name: str) -> str:
    """Return the part of the scripts' bucket below which nodes write reports; no slash at either end."""
    # A CDK token cannot be checked or read in a key: the construct's address is used then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedScripts:
    """The scripts in their bucket. Their URIs are tokens that depend on the upload."""

    bundle: LifecycleBundle
    hooks: Hooks
    """The scripts of each kind of nodes."""
    access: BucketAccess
    """Read access of nodes: all bundles of this cluster, because a node may start with the previous one during an
    update."""
    reports: BucketAccess | None
    """Where nodes write reports; `None` for no reports."""


def scripts_bucket(scope: Construct, plan: ClusterPlan) -> s3.IBucket | None:
    """Return the bucket of the scripts of `plan`, created at `scope` unless given; `None` when no node runs any."""
    if plan.shape.scripts is None:
        return None
    reported = bucket_of(scope, plan.shape.scripts.bucket)
    return reported or LifecycleBucket(scope, "LifecycleBucket", name_part=_name_part(scope, plan)).bucket


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
    """Return the scripts of each kind of nodes.

    ParallelCluster never changes `OnNodeConfigured` of the head node and of login pools, so those start with fixed
    S3 keys, and read the newest bundle from there. A changed bundle changes the arguments of `OnNodeUpdated` there,
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
    """Return the base of the bucket's name: the cluster's name, or the construct's id if the name is a token."""
    name = plan.shape.cluster_name
    if is_unresolved(name):
        name = cdk.Names.unique_resource_name(scope, separator="-")
    return name.lower()


_SESSIONS = "AmazonSSMManagedInstanceCore"
"""One of AWS's policies that the provider may attach."""

_KINDS = {
    "head": "the head node of a ParallelCluster",
    "queues": "compute nodes of a ParallelCluster",
    "login": "login nodes of a ParallelCluster",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRights:
    """The policies of a cluster's nodes: one for the head node, one for all queues, one for all login pools.

    An empty policy is omitted: IAM rejects it.
    """

    head_node: NamedPolicy | None
    queues: NamedPolicy | None
    login_pools: NamedPolicy | None

    @property
    def all(self) -> tuple[NamedPolicy, ...]:
        """All of them."""
        return tuple(policy for policy in (self.head_node, self.queues, self.login_pools) if policy is not None)

    def attached(self, scope: Construct, plan: ClusterPlan) -> NodePolicies:
        """Return the policies of each kind of nodes, including Session Manager's."""
        sessions = f"arn:{cdk.Stack.of(scope).partition}:iam::aws:policy/{_SESSIONS}"

        def of(policy: NamedPolicy | None) -> tuple[str, ...]:
            return (sessions,) if policy is None else (sessions, policy.arn)

        return NodePolicies(
            head_node=of(self.head_node),
            queues={queue.name: of(self.queues) for queue in plan.shape.queues},
            login_pools={pool.name: of(self.login_pools) for pool in plan.shape.login_pools},
        )


def add_node_policies(
    scope: Construct,
    plan: ClusterPlan,
    scripts: PlacedScripts | None,
    configuration: Mapping[str, Any],
    *,
    cluster_name: str,
    read_buckets: Sequence[s3.IBucket],
    write_buckets: Sequence[s3.IBucket],
) -> NodeRights:
    """Make the policies of the nodes of `plan`; `configuration`: rendered without scripts and policies."""
    place = Place.of(scope)
    data = tuple(map(BucketAccess.of, read_buckets)), tuple(map(BucketAccess.of, write_buckets))

    def make(id: str, kind: str, groups: set[str], section: Any, *additional: Permission) -> NamedPolicy | None:
        features = _features(scope, plan, scripts, data, groups)
        if kind == "queues":
            features = replace(features, **_of_jobs(plan, place))
        own = own_scripts(section or {}, place, why="the node fetches the scripts and files that the user has named")
        permissions = [*parallelcluster_permissions(features, place), *own, *additional]
        statements = _of_accounting(plan) if kind == "head" else []
        if not permissions and not statements:
            return None
        return NamedPolicy(
            scope,
            id,
            name=policy_name(scope, cluster_name, kind),
            description=f"What {_KINDS[kind]} may do besides what ParallelCluster allows by itself",
            permissions=permissions,
            statements=statements,
        )

    volumes = keys_of_storage(configuration, place, why="the head node attaches encrypted volumes")
    pools = {pool_group(pool) for pool in plan.shape.login_pools}
    heads = {key: configuration[key] for key in ("HeadNode", "Scheduling") if key in configuration}
    heads["Scheduling"] = {"SlurmSettings": heads["Scheduling"].get("SlurmSettings", {})}
    return NodeRights(
        head_node=make("HeadNodePolicy", "head", {HEAD_NODE}, heads, *volumes),
        queues=make(
            "QueuePolicy",
            "queues",
            {queue.name for queue in plan.shape.queues},
            {"SlurmQueues": configuration["Scheduling"]["SlurmQueues"]},
        ),
        login_pools=make("LoginPolicy", "login", pools, configuration.get("LoginNodes")) if pools else None,
    )


def policy_name(scope: Construct, cluster_name: str, kind: str) -> str:
    """Return the name of a policy that the provider may attach: it begins with `parallelcluster`.

    IAM is global and a cluster's name is unique only in a region, so the region is part of it.
    """
    return f"parallelcluster-{cdk.Stack.of(scope).region}-{cluster_name}-{kind}"


def _features(
    scope: Construct,
    plan: ClusterPlan,
    scripts: PlacedScripts | None,
    data: tuple[tuple[BucketAccess, ...], tuple[BucketAccess, ...]],
    groups: set[str],
) -> NodeFeatures:
    read, write = data
    spec = plan.shape
    return NodeFeatures(
        bundle=scripts.access if scripts else None,
        read_buckets=(*read, *mounted_buckets(scope, spec, read_only=True, groups=groups)),
        write_buckets=(*write, *mounted_buckets(scope, spec, read_only=False, groups=groups)),
        mirror=mirror_of(scope, spec),
        reports=scripts.reports if scripts else None,
        report_events=spec.scripts is not None and spec.reports is NodeReports.ALL,
        **metrics_permissions(spec.metrics, cluster_name=spec.cluster_name),
    )


def _of_jobs(plan: ClusterPlan, place: Place) -> dict[str, Any]:
    """Return the features of nodes that jobs run on, and no others."""
    training = plan.shape.training
    secret = training.hub_token_secret if training is not None else None
    return {
        "hub_token_secret": None if secret is None else SecretAccess.of(cast("secretsmanager.ISecret | str", secret)),
        "image_repositories": image_repositories(training, region=plan.shape.region, partition=place.partition),
    }


def _of_accounting(plan: ClusterPlan) -> list[iam.PolicyStatement]:
    return head_node_statements(plan.shape.accounting) if plan.shape.accounting else []
