"""Capacity of compute resources: how it is bought, reserved and placed."""

import re

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.parallelcluster import families_without_placement_group
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.node_network import has_several_subnets
from llm_fleet.rules.parallelcluster.nodes import capacity_reservation_of, placement_group_of
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import AllocationStrategy, CapacityType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue

_RESERVATION_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_GROUP_ARN = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+")
_STRATEGIES = {
    CapacityType.ONDEMAND: (AllocationStrategy.LOWEST_PRICE, AllocationStrategy.PRIORITIZED),
    CapacityType.SPOT: tuple(each for each in AllocationStrategy if each is not AllocationStrategy.PRIORITIZED),
    CapacityType.CAPACITY_BLOCK: (),
}
"""InstancesAllocationStrategyValidator."""


def check_reservation(reservation: CapacityReservation | None) -> list[Problem]:
    """Check that a reservation is told in one way, and by something of the right form."""
    if reservation is None:
        return []
    path = ("capacity_reservation",)
    told, arn = reservation.reservation_id, reservation.resource_group_arn
    if (told is None) == (arn is None):
        return [
            Problem(
                code=Code.PC_RESERVATION,
                message="the reservation is told by an id and by a resource group"
                if told is not None
                else "the reservation is told neither by an id nor by a resource group",
                remedy="give the id of one reservation, or the ARN of a group of them",
                path=path,
            )
        ]
    if told is not None and not is_unresolved(told) and not _RESERVATION_ID.fullmatch(told):
        return [_malformed("no id of a capacity reservation", "reservation_id", told, "cr-0123456789abcdef0")]
    if arn is not None and not is_unresolved(arn) and not _GROUP_ARN.fullmatch(arn):
        example = "arn:aws:resource-groups:<region>:<account>:group/<name>"
        return [_malformed("no ARN of a resource group", "resource_group_arn", arn, example)]
    return []


def check_reservation_use(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that one reservation is not for several instance types or subnets (CapacityReservationValidator)."""
    reservation = capacity_reservation_of(queue, resource)
    if reservation is None or reservation.reservation_id is None:
        return []
    problems: list[Problem] = []
    if len(resource.types) > 1:
        problems.append(
            Problem(
                code=Code.PC_RESERVATION,
                message=f"one reservation is of one instance type, and these are {len(resource.types)}",
                remedy="name the type of the reservation, or give a resource group of reservations",
                path=("instance_types",),
                value=list(resource.types),
            )
        )
    elif has_several_subnets(queue):
        problems.append(
            Problem(
                code=Code.PC_RESERVATION,
                message=f"one reservation is in one AZ, and the queue in {len(set(queue.subnet_ids))} subnets",
                remedy="name the subnet in the reservation's AZ, or give a resource group of reservations",
                path=("capacity_reservation",),
                value=reservation.reservation_id,
            )
        )
    return problems


def check_capacity_block(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that a Capacity Block has its reservation, and nodes that all run (ComputeResourceSizeValidator)."""
    if queue.capacity_type != CapacityType.CAPACITY_BLOCK:
        return []
    reservation = capacity_reservation_of(queue, resource)
    problems: list[Problem] = []
    if reservation is None or reservation.reservation_id is None:
        problems.append(
            Problem(
                code=Code.PC_CAPACITY_BLOCK,
                message="a Capacity Block is used by the id of its reservation, and there is none",
                remedy="give the id that `aws ec2 describe-capacity-reservations` shows for the block",
                path=("capacity_reservation",),
                allowed="cr-…",
            )
        )
    least, most = resource.min_count, resource.max_count
    if not is_unresolved((least, most)) and not 0 < least == most:
        problems.append(
            Problem(
                code=Code.PC_CAPACITY_BLOCK_COUNT,
                message="the instances of a Capacity Block all run as long as it lasts: they are paid for already",
                remedy=f"write {max(least, most, 1)} for both min_count and max_count, or as many as the block has",
                path=("min_count",),
                value=least,
                allowed="min_count equal to max_count, and more than 0",
            )
        )
    return problems


def check_capacity_type(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that the types are sold in the way that the queue wants them (CapacityTypeValidator)."""
    known = [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]
    block = queue.capacity_type == CapacityType.CAPACITY_BLOCK
    if not block and queue.capacity_type != CapacityType.SPOT:
        return []
    words = "in Capacity Blocks" if block else "as spot"
    return [
        Problem(
            code=Code.PC_CAPACITY_TYPE,
            message=f"AWS does not sell {facts.name} {words}",
            remedy="write ONDEMAND as the queue's capacity_type, with a capacity reservation where there is one",
            path=("instance_types",),
            value=facts.name,
        )
        for facts in known
        if not (facts.capacity_block if block else facts.spot)
    ]


def check_spot_price(queue: Queue, resource: ComputeResource) -> list[Problem]:
    """Check that a price is one, and that only spot has one. Stricter: ParallelCluster drops it elsewhere unsaid."""
    price = resource.spot_price
    if price is None or is_unresolved(price):
        return []
    if price <= 0:
        message, remedy = "a spot price is more than 0", "leave it out: the on-demand price is then the most"
    elif queue.capacity_type != CapacityType.SPOT:
        message = f"the queue is {queue.capacity_type}, which has no spot price"
        remedy = "leave it out, or write SPOT as the queue's capacity_type"
    else:
        return []
    return [Problem(code=Code.PC_SPOT_PRICE, message=message, remedy=remedy, path=("spot_price",), value=price)]


def check_allocation(queue: Queue) -> list[Problem]:
    """Check that the capacity has the allocation strategy.

    Stricter: ParallelCluster looks at it only where a compute resource has several types, and drops it elsewhere.
    """
    strategy = queue.allocation_strategy
    allowed = _STRATEGIES.get(queue.capacity_type, ())
    if strategy is None or strategy in allowed:
        return []
    return [
        Problem(
            code=Code.PC_ALLOCATION,
            message=f"{queue.capacity_type} capacity has no allocation strategy {str(strategy)!r}",
            remedy=f"write {str(allowed[0])!r}" if allowed else "leave it out: a block holds what it holds",
            path=("allocation_strategy",),
            value=str(strategy),
            allowed=", ".join(allowed),
        )
    ]


def _malformed(what: str, attribute: str, value: str, example: str) -> Problem:
    return Problem(
        code=Code.PC_RESERVATION,
        message=f"this is {what}",
        remedy="write it as `aws ec2 describe-capacity-reservations` or `aws resource-groups list-groups` shows it",
        path=("capacity_reservation", attribute),
        value=value,
        allowed=example,
    )


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
