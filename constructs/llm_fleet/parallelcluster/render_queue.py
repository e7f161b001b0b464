"""A queue in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.parallelcluster.hooks import Hooks
from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.parallelcluster.node_policies import NodePolicies
from llm_fleet.parallelcluster.render_compute_resource import render_compute_resource
from llm_fleet.parallelcluster.render_parts import (
    render_gpu_health_check,
    render_image,
    render_local_storage,
    render_placement_group,
    render_policies,
    render_reservation,
    render_script,
    render_security_groups,
    render_tags,
)
from llm_fleet.rules.parallelcluster.defaults import exclusive_of
from llm_fleet.spec.parallelcluster_queue import Queue


def render_queue(queue: Queue, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return one of `SlurmQueues`."""
    rendered = {
        "Name": queue.name,
        "CapacityType": queue.capacity_type.value,
        "AllocationStrategy": None if queue.allocation_strategy is None else queue.allocation_strategy.value,
        "JobExclusiveAllocation": exclusive_of(queue) or queue.exclusive,
        "ComputeResources": [render_compute_resource(queue, resource) for resource in queue.compute_resources],
        "ComputeSettings": {"LocalStorage": render_local_storage(queue.root_volume, queue.scratch_mount_dir)},
        "Networking": pruned(
            {
                "SubnetIds": list(queue.subnet_ids),
                **render_security_groups(queue.security_group_ids, queue.overrides),
                "AssignPublicIp": queue.assign_public_ip,
                "PlacementGroup": render_placement_group(queue.placement_group),
            }
        ),
        "CapacityReservationTarget": render_reservation(queue.capacity_reservation),
        "HealthChecks": render_gpu_health_check(queue.gpu_health_check),
        "CustomActions": pruned({"OnNodeConfigured": render_script(hooks.queues.get(queue.name))}),
        "Iam": render_policies(policies.queues.get(queue.name, ()), queue.overrides),
        "Image": render_image(queue.image_id),
        "CustomSlurmSettings": dict(queue.custom_slurm_settings),
        "Tags": render_tags(queue.tags),
    }
    return merged(pruned(rendered), queue.overrides)
