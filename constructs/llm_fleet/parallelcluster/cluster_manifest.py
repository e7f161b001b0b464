"""What the nodes of a cluster are told."""

from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.data_file import load
from llm_fleet.lifecycle.cluster_metrics import ReportPlace
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan
from llm_fleet.parallelcluster.node_groups import node_groups
from llm_fleet.parallelcluster.node_scripts import NodeScripts
from llm_fleet.parallelcluster.training_checks import further_shared_folders
from llm_fleet.rules.terms import NodePlatform, NodeReports
from llm_fleet.rules.tokens import is_unresolved


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
        s3_mounts=plan.setup.s3_mounts,
        # ParallelCluster sets its own accounting up, from `Database` or `ExternalSlurmdbd`.
        accounting=None,
        users=plan.setup.users,
        slurm_accounts=plan.setup.slurm_accounts,
        directory=plan.setup.directory,
        neuron=plan.setup.neuron,
        training=plan.setup.training,
        shared_folders=further_shared_folders(plan.shape, plan.mounts),
        downloads=plan.setup.downloads,
        reports=_reports(scope, plan, scripts.reports, bucket, cluster_name),
        metrics=plan.setup.metrics,
        metrics_cluster=plan.shape.cluster_name,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
    )


def reports_prefix(scope: Construct, plan: ClusterPlan, cluster_name: str) -> str:
    """Return the part of the scripts' bucket below which nodes leave reports; no slash at either end."""
    # A name that only the deployment knows cannot be checked, nor read by people: the construct's address then.
    names = [scope.node.addr[-8:] if is_unresolved(name) else name for name in (plan.fleet_name, cluster_name)]
    return "/".join([load("lifecycle")["reports_prefix"], *names])


def _reports(
    scope: Construct, plan: ClusterPlan, wanted: NodeReports, bucket: s3.IBucket, cluster_name: str
) -> ReportPlace | None:
    if wanted == NodeReports.NONE:
        return None
    facts = load("lifecycle")
    told = wanted == NodeReports.ALL
    return ReportPlace(
        s3_uri=f"s3://{bucket.bucket_name}/{reports_prefix(scope, plan, cluster_name)}/",
        metric_namespace=facts["metric_namespace"] if told else None,
        event_bus=facts["event_bus"] if told else None,
    )
