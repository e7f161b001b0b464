"""Capacity of compute resources: how it is bought, reserved and placed."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.parallelcluster import families_without_placement_group
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.node_network import has_several_subnets
from llm_fleet.rules.parallelcluster.nodes import capacity_reservation_of, known_types, placement_group_of
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import AllocationStrategy, CapacityType
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue

_STRATEGIES = {
    CapacityType.ONDEMAND: (AllocationStrategy.LOWEST_PRICE, AllocationStrategy.PRIORITIZED),
    CapacityType.SPOT: tuple(each for each in AllocationStrategy if each is not AllocationStrategy.PRIORITIZED),
    CapacityType.CAPACITY_BLOCK: (),
}
"""InstancesAllocationStrategyValidator."""


@rule
def check_reservation(reservation: CapacityReservation | None) -> Iterator[Problem]:
    """Check that a reservation is told in one way, and by something of the right form."""
    if reservation is None:
        return
    reported, arn = reservation.reservation_id, reservation.resource_group_arn
    if (reported is None) == (arn is None):
        yield Problem(
            code=Code.PC_RESERVATION,
            message="the reservation is told by an id and by a resource group"
            if reported is not None
            else "the reservation is told neither by an id nor by a resource group",
            remedy="give the id of one reservation, or the ARN of a group of them",
            path=("capacity_reservation",),
        )
        return
    for attribute, (form, noun, example) in _FORMS.items():
        value = getattr(reservation, attribute)
        if value is not None and not is_unresolved(value) and not form.fullmatch(value):
            yield Problem(
                code=Code.PC_RESERVATION,
                message=f"this is no {noun}",
                remedy="write it as `aws ec2 describe-capacity-reservations` or `aws resource-groups list-groups` "
                "shows it",
                path=("capacity_reservation", attribute),
                value=value,
                allowed=example,
            )


_FORMS = {
    "reservation_id": (re.compile(r"cr-[0-9a-f]{8,17}"), "id of a capacity reservation", "cr-0123456789abcdef0"),
    "resource_group_arn": (
        re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+"),
        "ARN of a resource group",
        "arn:aws:resource-groups:<region>:<account>:group/<name>",
    ),
}


@rule
def check_reservation_use(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that one reservation is not for several instance types or subnets (CapacityReservationValidator)."""
    reservation = capacity_reservation_of(queue, resource)
    if reservation is None or reservation.reservation_id is None:
        return
    if len(resource.types) > 1:
        yield Problem(
            code=Code.PC_RESERVATION,
            message=f"one reservation is of one instance type, and these are {len(resource.types)}",
            remedy="name the type of the reservation, or give a resource group of reservations",
            path=("instance_types",),
            value=list(resource.types),
        )
    elif has_several_subnets(queue):
        yield Problem(
            code=Code.PC_RESERVATION,
            message=f"one reservation is in one AZ, and the queue in {len(set(queue.subnet_ids))} subnets",
            remedy="name the subnet in the reservation's AZ, or give a resource group of reservations",
            path=("capacity_reservation",),
            value=reservation.reservation_id,
        )


@rule
def check_capacity_block(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that a Capacity Block has its reservation, and nodes that all run (ComputeResourceSizeValidator)."""
    if queue.capacity_type != CapacityType.CAPACITY_BLOCK:
        return
    reservation = capacity_reservation_of(queue, resource)
    if reservation is None or reservation.reservation_id is None:
        yield Problem(
            code=Code.PC_CAPACITY_BLOCK,
            message="a Capacity Block is used by the id of its reservation, and there is none",
            remedy="give the id that `aws ec2 describe-capacity-reservations` shows for the block",
            path=("capacity_reservation",),
            allowed="cr-…",
        )
    least, most = resource.min_count, resource.max_count
    if not is_unresolved((least, most)) and not 0 < least == most:
        yield resource.wrong(
            "min_count",
            Code.PC_CAPACITY_BLOCK_COUNT,
            "the instances of a Capacity Block all run as long as it lasts: they are paid for already",
            f"write {max(least, most, 1)} for both min_count and max_count, or as many as the block has",
            allowed="min_count equal to max_count, and more than 0",
        )


@rule
def check_capacity_type(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that the types are sold in the way that the queue wants them (CapacityTypeValidator)."""
    block, spot = queue.capacity_type == CapacityType.CAPACITY_BLOCK, queue.capacity_type == CapacityType.SPOT
    for facts in known_types(resource):
        if (block and not facts.capacity_block) or (spot and not facts.spot):
            yield resource.wrong(
                "instance_types",
                Code.PC_CAPACITY_TYPE,
                f"AWS does not sell {facts.name} {'in Capacity Blocks' if block else 'as spot'}",
                "write ONDEMAND as the queue's capacity_type, with a capacity reservation where there is one",
                value=facts.name,
            )


@rule
def check_spot_price(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that a price is one, and that only spot has one. Stricter: ParallelCluster drops it elsewhere unsaid."""
    price = resource.spot_price
    if price is None or is_unresolved(price):
        return
    if price <= 0:
        yield resource.wrong(
            "spot_price",
            Code.PC_SPOT_PRICE,
            "a spot price is more than 0",
            "leave it out: the on-demand price is then the most",
        )
    elif queue.capacity_type != CapacityType.SPOT:
        yield resource.wrong(
            "spot_price",
            Code.PC_SPOT_PRICE,
            f"the queue is {queue.capacity_type}, which has no spot price",
            "leave it out, or write SPOT as the queue's capacity_type",
        )


@rule
def check_allocation(queue: Queue) -> Iterator[Problem]:
    """Check that the capacity has the allocation strategy.

    Stricter: ParallelCluster looks at it only where a compute resource has several types, and drops it elsewhere.
    """
    strategy = queue.allocation_strategy
    allowed = _STRATEGIES.get(queue.capacity_type, ())
    if strategy is not None and strategy not in allowed:
        yield queue.wrong(
            "allocation_strategy",
            Code.PC_ALLOCATION,
            f"{queue.capacity_type} capacity has no allocation strategy {str(strategy)!r}",
            f"write {str(allowed[0])!r}" if allowed else "leave it out: a block holds what it holds",
            allowed=", ".join(allowed),
        )


@rule
def check_placement_name(group: PlacementGroup | None) -> Iterator[Problem]:
    """Check that no group is named and disabled at once (PlacementGroupNamingValidator)."""
    if group is not None and not group.enabled and group.name is not None:
        yield Problem(
            code=Code.PC_PLACEMENT_NAME,
            message="the placement group is named and disabled",
            remedy="leave the name out to have none, or enable it",
            path=("placement_group", "name"),
            value=group.name,
        )


@rule
def check_placement(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that the instances of `resource` can be in the placement group that they get.

    (InstanceTypePlacementGroupValidator, MultiAzPlacementGroupValidator.) Stricter than ParallelCluster, which only
    warns of a Capacity Block in one (PlacementGroupCapacityTypeValidator).
    """
    group = placement_group_of(queue, resource)
    if group is None or not (group.enabled or group.name):
        return
    for name in resource.types:
        if not is_unresolved(name) and name.partition(".")[0] in families_without_placement_group():
            yield resource.wrong(
                "placement_group",
                Code.PC_PLACEMENT,
                f"EC2 puts no {name} into a cluster placement group",
                "leave the placement group out, or take a type without bursts or flexible CPU, e.g. 'm7i.xlarge'",
                value=name,
            )
    if has_several_subnets(queue):
        yield resource.wrong(
            "placement_group",
            Code.PC_PLACEMENT,
            f"a placement group lies in one AZ, and the queue in {len(set(queue.subnet_ids))} subnets",
            "put the queue into one subnet, or disable the placement group",
            value=list(queue.subnet_ids),
        )
    if queue.capacity_type == CapacityType.CAPACITY_BLOCK:
        yield resource.wrong(
            "placement_group",
            Code.PC_PLACEMENT,
            "a Capacity Block is placed by AWS, and instances outside of the group count as not available",
            "leave the placement group out: the instances of a block stand together already",
            value=True,
        )
