"""A cluster as ParallelCluster's configuration, the YAML that its command line takes, as one map.

Pure: the same cluster gives the same map, tokens stay as they are. Numbers are numbers and booleans booleans, though
CloudFormation makes strings of both on the way to the provider; ParallelCluster's schema reads either.
"""

from typing import Any

from llm_fleet.parallelcluster.hooks import Hooks
from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.parallelcluster.node_policies import NodePolicies
from llm_fleet.parallelcluster.render_head_node import render_head_node
from llm_fleet.parallelcluster.render_login_pool import render_login_pool
from llm_fleet.parallelcluster.render_parts import render_tags
from llm_fleet.parallelcluster.render_queue import render_queue
from llm_fleet.parallelcluster.render_slurm import render_slurm_settings
from llm_fleet.parallelcluster.render_storage import render_storage
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.defaults import has_home_of_its_own


def render_configuration(
    cluster: ClusterShape, hooks: Hooks | None = None, policies: NodePolicies | None = None
) -> dict[str, Any]:
    """Return `ClusterConfiguration`: no `None`, no empty section, and what the user overrides in its place."""
    actions, rights = hooks or Hooks(), policies or NodePolicies()
    rendered = {
        "Region": cluster.region,
        "Image": pruned({"Os": str(cluster.os), "CustomAmi": cluster.image_id}),
        "HeadNode": render_head_node(cluster.head_node, actions, rights),
        "Scheduling": {
            "Scheduler": cluster.scheduler,
            "ScalingStrategy": cluster.slurm.scaling_strategy.value,
            "SlurmSettings": render_slurm_settings(cluster.slurm, cluster.accounting),
            "SlurmQueues": [render_queue(queue, actions, rights) for queue in cluster.queues],
        },
        "LoginNodes": pruned(
            {"Pools": [render_login_pool(pool, cluster.head_node, actions, rights) for pool in cluster.login_pools]}
        ),
        "SharedStorage": [render_storage(storage) for storage in cluster.shared_storage],
        "Monitoring": _monitoring(cluster),
        "Tags": render_tags(cluster.tags),
        "Imds": {"ImdsSupport": "v2.0"},
        "DeploymentSettings": {"DefaultUserHome": "Local"} if has_home_of_its_own(cluster) else None,
    }
    return merged(pruned(rendered), cluster.overrides)


def _monitoring(cluster: ClusterShape) -> dict[str, Any]:
    logs = {"RetentionInDays": cluster.log_retention_days, "DeletionPolicy": "Retain"}
    return pruned({"DetailedMonitoring": cluster.detailed_monitoring or None, "Logs": {"CloudWatch": logs}})
