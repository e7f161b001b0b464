"""A compute resource in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.parallelcluster.render_parts import (
    render_gpu_health_check,
    render_placement_group,
    render_reservation,
    render_tags,
)
from llm_fleet.rules.parallelcluster.defaults import efa_of, placement_group_of
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue


def render_compute_resource(queue: Queue, resource: ComputeResource) -> dict[str, Any]:
    """Return one of `ComputeResources`."""
    rendered = {
        "Name": resource.name,
        **_instances(queue, resource),
        "MinCount": resource.min_count,
        "MaxCount": resource.max_count,
        "SpotPrice": resource.spot_price,
        "Efa": _efa(resource),
        "DisableSimultaneousMultithreading": not resource.hyperthreading or None,
        "SchedulableMemory": resource.schedulable_memory_mib,
        "CapacityReservationTarget": render_reservation(resource.capacity_reservation),
        "Networking": pruned({"PlacementGroup": _placement_group(queue, resource)}),
        "HealthChecks": render_gpu_health_check(resource.gpu_health_check),
        "CustomSlurmSettings": dict(resource.custom_slurm_settings),
        "Tags": render_tags(resource.tags),
        "StaticNodePriority": resource.static_node_priority,
        "DynamicNodePriority": resource.dynamic_node_priority,
    }
    return merged(pruned(rendered), resource.overrides)


def _instances(queue: Queue, resource: ComputeResource) -> dict[str, Any]:
    """ParallelCluster refuses `InstanceType` in several subnets (its SingleInstanceTypeSubnetValidator)."""
    names = [str(name) for name in resource.types]
    if len(names) == 1 and len(queue.subnet_ids) <= 1:
        return {"InstanceType": names[0]}
    return {"Instances": [{"InstanceType": name} for name in names]}


def _efa(resource: ComputeResource) -> dict[str, Any] | None:
    """An explicit `False` is written down: whoever reads the configuration sees that it is meant."""
    enabled = efa_of(resource)
    return {"Enabled": enabled} if enabled or resource.efa is not None else None


def _placement_group(queue: Queue, resource: ComputeResource) -> dict[str, Any] | None:
    """The queue's own word is not said again."""
    if resource.placement_group is None and queue.placement_group is not None:
        return None
    return render_placement_group(placement_group_of(queue, resource))
