"""Placement groups: which instances can be in one, and what is said twice."""

from llm_fleet.catalog.parallelcluster import families_without_placement_group
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.defaults import placement_group_of
from llm_fleet.rules.parallelcluster.subnets import has_several_subnets
from llm_fleet.rules.parallelcluster.terms import CapacityType
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource, PlacementGroup, Queue

_PATH = ("placement_group",)


def check_placement_name(group: PlacementGroup | None) -> list[Problem]:
    """Check that no group is named and disabled at once (PlacementGroupNamingValidator)."""
    if group is None or group.enabled or group.name is None:
        return []
    return [
        Problem(
            code=Code.PC_PLACEMENT_NAME,
            message="the placement group is named and disabled",
            remedy="leave the name out to have none, or enable it",
            path=(*_PATH, "name"),
            value=group.name,
        )
    ]


def check_placement(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that the instances of `resource` can be in the placement group that they get."""
    group = placement_group_of(queue, resource)
    if group is None or not (group.enabled or group.name):
        return []
    return [
        *_check_families(resource),
        *_check_subnets(queue),
        *_check_capacity_block(queue),
    ]


def _check_families(resource: ComputeResource) -> list[Problem]:
    """InstanceTypePlacementGroupValidator."""
    names = [name for name in resource.types if not is_unresolved(name)]
    return [
        Problem(
            code=Code.PC_PLACEMENT,
            message=f"EC2 puts no {name} into a cluster placement group",
            remedy="leave the placement group out, or take a type without bursts or flexible CPU, e.g. 'm7i.xlarge'",
            path=_PATH,
            value=name,
        )
        for name in names
        if name.partition(".")[0] in families_without_placement_group()
    ]


def _check_subnets(queue: Queue) -> list[Problem]:
    """MultiAzPlacementGroupValidator."""
    if not has_several_subnets(queue):
        return []
    return [
        Problem(
            code=Code.PC_PLACEMENT,
            message=f"a placement group lies in one AZ, and the queue in {len(set(queue.subnet_ids))} subnets",
            remedy="put the queue into one subnet, or disable the placement group",
            path=_PATH,
            value=list(queue.subnet_ids),
        )
    ]


def _check_capacity_block(queue: Queue) -> list[Problem]:
    """Stricter than ParallelCluster, which warns of it (PlacementGroupCapacityTypeValidator)."""
    if queue.capacity_type != CapacityType.CAPACITY_BLOCK:
        return []
    return [
        Problem(
            code=Code.PC_PLACEMENT,
            message="a Capacity Block is placed by AWS, and instances outside of the group count as not available",
            remedy="leave the placement group out: the instances of a block stand together already",
            path=_PATH,
            value=True,
        )
    ]
