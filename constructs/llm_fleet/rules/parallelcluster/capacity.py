"""Capacity of compute resources: capacity type, reservations, placement groups."""

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
    """Check that a reservation is given in one way, and in the right format."""
    if reservation is None:
        return
    reported, arn = reservation.reservation_id, reservation.resource_group_arn
    if (reported is None) == (arn is None):
        yield Problem(
            code=Code.PC_RESERVATION,
            message="the reservation has both an ID and a resource group"
            if reported is not None
            else "the reservation has neither an ID nor a resource group",
            remedy="write the ID of a reservation, or the ARN of a resource group of reservations",
            path=("capacity_reservation",),
        )
        return
    for attribute, (form, noun, example) in _FORMS.items():
        value = getattr(reservation, attribute)
        if value is not None and not is_unresolved(value) and not form.fullmatch(value):
            yield Problem(
                code=Code.PC_RESERVATION,
                message=f"this is not the {noun}",
                remedy="write it as `aws ec2 describe-capacity-reservations` or `aws resource-groups list-groups` "
                "shows it",
                path=("capacity_reservation", attribute),
                value=value,
                allowed=example,
            )


_FORMS = {
    "reservation_id": (re.compile(r"cr-[0-9a-f]{8,17}"), "ID of a capacity reservation", "cr-0123456789abcdef0"),
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
            message=f"one reservation is for one instance type, but the compute resource has {len(resource.types)}",
            remedy="write the type of the reservation, or a resource group of reservations",
            path=("instance_types",),
            value=list(resource.types),
        )
    elif has_several_subnets(queue):
        yield Problem(
            code=Code.PC_RESERVATION,
            message=f"one reservation is in one AZ, but the queue is in {len(set(queue.subnet_ids))} subnets",
            remedy="write the subnet in the reservation's AZ, or a resource group of reservations",
            path=("capacity_reservation",),
            value=reservation.reservation_id,
        )


@rule
def check_capacity_block(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that a Capacity Block has its reservation, and that all its nodes run (ComputeResourceSizeValidator)."""
    if queue.capacity_type != CapacityType.CAPACITY_BLOCK:
        return
    reservation = capacity_reservation_of(queue, resource)
    if reservation is None or reservation.reservation_id is None:
        yield Problem(
            code=Code.PC_CAPACITY_BLOCK,
            message="a Capacity Block requires the ID of its reservation",
            remedy="write the ID that `aws ec2 describe-capacity-reservations` shows for the block",
            path=("capacity_reservation",),
            allowed="cr-…",
        )
    least, most = resource.min_count, resource.max_count
    if not is_unresolved((least, most)) and not 0 < least == most:
        yield resource.wrong(
            "min_count",
            Code.PC_CAPACITY_BLOCK_COUNT,
            "all instances of a Capacity Block must run while it lasts, since they are already paid for",
            f"write {max(least, most, 1)} for both min_count and max_count, or as many as the block has",
            allowed="min_count equal to max_count, and more than 0",
        )


@rule
def check_capacity_type(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that the types are available with the capacity type of the queue (CapacityTypeValidator)."""
    block, spot = queue.capacity_type == CapacityType.CAPACITY_BLOCK, queue.capacity_type == CapacityType.SPOT
    for facts in known_types(resource):
        if (block and not facts.capacity_block) or (spot and not facts.spot):
            yield resource.wrong(
                "instance_types",
                Code.PC_CAPACITY_TYPE,
                f"{facts.name} is not available {'in Capacity Blocks' if block else 'as Spot Instances'}",
                "write `capacity_type: ONDEMAND` for the queue, with a capacity reservation if you have one",
                value=facts.name,
            )


@rule
def check_spot_price(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that a Spot price is positive, and only given with SPOT. Stricter: ParallelCluster ignores it elsewhere."""
    price = resource.spot_price
    if price is None or is_unresolved(price):
        return
    if price <= 0:
        yield resource.wrong(
            "spot_price",
            Code.PC_SPOT_PRICE,
            "a Spot price must be above 0",
            "remove it: the On-Demand price is then the limit",
        )
    elif queue.capacity_type != CapacityType.SPOT:
        yield resource.wrong(
            "spot_price",
            Code.PC_SPOT_PRICE,
            f"the queue has capacity_type {queue.capacity_type}, which has no Spot price",
            "remove it, or write `capacity_type: SPOT` for the queue",
        )


@rule
def check_allocation(queue: Queue) -> Iterator[Problem]:
    """Check that the capacity type supports the allocation strategy.

    Stricter: ParallelCluster checks it only when a compute resource has several types, and ignores it elsewhere.
    """
    strategy = queue.allocation_strategy
    allowed = _STRATEGIES.get(queue.capacity_type, ())
    if strategy is not None and strategy not in allowed:
        yield queue.wrong(
            "allocation_strategy",
            Code.PC_ALLOCATION,
            f"capacity_type {queue.capacity_type} does not support the allocation strategy {str(strategy)!r}",
            f"write `{allowed[0]}`" if allowed else "remove it: a Capacity Block has fixed instances",
            allowed=", ".join(allowed),
        )


@rule
def check_placement_name(group: PlacementGroup | None) -> Iterator[Problem]:
    """Check that no placement group is both named and disabled (PlacementGroupNamingValidator)."""
    if group is not None and not group.enabled and group.name is not None:
        yield Problem(
            code=Code.PC_PLACEMENT_NAME,
            message="the placement group is both named and disabled",
            remedy="remove the name to have no placement group, or enable it",
            path=("placement_group", "name"),
            value=group.name,
        )


@rule
def check_placement(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that the instances of `resource` support their placement group.

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
                f"EC2 does not support {name} in a cluster placement group",
                "remove the placement group, or write a type that is neither burstable nor flex, e.g. `m7i.xlarge`",
                value=name,
            )
    if has_several_subnets(queue):
        yield resource.wrong(
            "placement_group",
            Code.PC_PLACEMENT,
            f"a placement group is in one AZ, but the queue is in {len(set(queue.subnet_ids))} subnets",
            "put the queue into one subnet, or disable the placement group",
            value=list(queue.subnet_ids),
        )
    if queue.capacity_type == CapacityType.CAPACITY_BLOCK:
        yield resource.wrong(
            "placement_group",
            Code.PC_PLACEMENT,
            "AWS places a Capacity Block, so its instances may not be available in a placement group",
            "remove the placement group: the instances of a Capacity Block are close together already",
            value=True,
        )
