"""Errors in queues: placement, subnets, addresses, and where instances come from."""

from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import AllocationStrategy, CapacityType, StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, PlacementGroup
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import (
    OTHER_SUBNET,
    RESERVATION,
    SUBNET,
    TRN1,
    Cluster,
    Partition,
    Resource,
    Storage,
    with_queue,
    with_resource,
)

BLOCK = {"capacity_type": CapacityType.CAPACITY_BLOCK}
RESERVED = CapacityReservation(reservation_id=RESERVATION)
GROUP = CapacityReservation(resource_group_arn="arn:aws:resource-groups:us-west-2:123456789012:group/reserved")
TWO_SUBNETS = {"subnets": (SUBNET, OTHER_SUBNET)}
FLEXIBLE = ("c5.4xlarge", "c5d.4xlarge")
MANAGED_LUSTRE = Storage(name="fsx", kind=StorageKind.FSX_LUSTRE, mount_dir="/fsx", settings={"StorageCapacity": 1200})


def _block(**changes: Any) -> PlacedParallelCluster:
    values = {"instance_types": ("trn1.32xlarge",), "min_count": 4, "max_count": 4, "capacity_reservation": RESERVED}
    return with_resource(queue=BLOCK, **{**values, **changes})


def _spot(**changes: Any) -> PlacedParallelCluster:
    return with_resource(queue={"capacity_type": CapacityType.SPOT}, **changes)


def _two_queues_with_lustre(other: str) -> PlacedParallelCluster:
    queues = (Partition(name="one"), Partition(name="two", subnets=(other,)))
    return Cluster(queues=queues, shared_storage=(MANAGED_LUSTRE,))


PLACEMENT = (
    Defect(
        name="placement group of burstable instances",
        cluster=with_resource(instance_types=("t3.large",), placement_group=PlacementGroup.managed()),
        code=Code.PC_PLACEMENT,
        validator="InstanceTypePlacementGroupValidator",
        good=with_resource(instance_types=("m5.large",), placement_group=PlacementGroup.managed()),
    ),
    Defect(
        name="placement group over two subnets",
        cluster=with_resource(queue=TWO_SUBNETS, instance_types=FLEXIBLE, placement_group=PlacementGroup.managed()),
        code=Code.PC_PLACEMENT,
        validator="MultiAzPlacementGroupValidator",
        good=with_resource(queue=TWO_SUBNETS, instance_types=FLEXIBLE, placement_group=PlacementGroup(enabled=False)),
    ),
    Defect(
        name="placement group that is named and disabled",
        cluster=with_resource(placement_group=PlacementGroup(enabled=False, name="close")),
        code=Code.PC_PLACEMENT_NAME,
        validator="PlacementGroupNamingValidator",
        good=with_resource(placement_group=PlacementGroup.named("close")),
    ),
)
QUEUES = (
    Defect(
        name="placement group of a queue that is named and disabled",
        cluster=with_queue(placement_group=PlacementGroup(enabled=False, name="close")),
        code=Code.PC_PLACEMENT_NAME,
        validator="PlacementGroupNamingValidator",
        good=with_queue(placement_group=PlacementGroup.named("close")),
    ),
    Defect(
        name="invalid security group of a queue",
        cluster=with_queue(security_groups=("sg-1",)),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
        good=with_queue(security_groups=("sg-0123456789abcdef0",)),
    ),
    Defect(
        name="reservation of a queue with both an id and a group",
        cluster=with_queue(
            capacity_reservation=CapacityReservation(
                reservation_id=RESERVATION, resource_group_arn=GROUP.resource_group_arn
            )
        ),
        code=Code.PC_RESERVATION,
        validator=SCHEMA,
        good=with_queue(capacity_reservation=GROUP),
    ),
)
SUBNETS = (
    Defect(
        name="subnet named twice",
        cluster=with_resource(queue={"subnets": (SUBNET, SUBNET)}, instance_types=FLEXIBLE),
        code=Code.PC_SUBNETS,
        validator="QueueSubnetsValidator",
    ),
    Defect(
        name="new Lustre file system for queues in two subnets",
        cluster=_two_queues_with_lustre(OTHER_SUBNET),
        code=Code.PC_FSX_SUBNETS,
        validator="ManagedFsxMultiAzValidator",
        good=_two_queues_with_lustre(SUBNET),
    ),
    Defect(
        name="public address on several network cards",
        cluster=with_queue(resources=(TRN1,), assign_public_ip=True),
        code=Code.PC_PUBLIC_ADDRESS,
        validator="MultiNetworkInterfacesInstancesValidator",
        good=with_queue(assign_public_ip=True),
    ),
    Defect(
        name="public address with EFA on one card",
        cluster=with_queue(resources=(Resource(instance_types=("c5n.18xlarge",), efa=True),), assign_public_ip=True),
        code=Code.PC_PUBLIC_ADDRESS,
        validator="MultiNetworkInterfacesInstancesValidator",
        good=Cluster(
            queues=(
                Partition(resources=(Resource(instance_types=("c5n.18xlarge",), efa=True),), assign_public_ip=True),
            ),
            overrides={"DevSettings": {"EfaInterfaceType": "efa"}},
        ),
    ),
)
CAPACITY = (
    Defect(
        name="Capacity Block with MinCount 0",
        cluster=_block(min_count=0),
        code=Code.PC_CAPACITY_BLOCK_COUNT,
        validator="ComputeResourceSizeValidator",
        said="Capacity Block",
        good=_block(),
    ),
    Defect(
        name="Capacity Block with MinCount below MaxCount",
        cluster=_block(min_count=2),
        code=Code.PC_CAPACITY_BLOCK_COUNT,
        validator="ComputeResourceSizeValidator",
        said="same value",
    ),
    Defect(
        name="Capacity Block without a reservation",
        cluster=_block(capacity_reservation=None),
        code=Code.PC_CAPACITY_BLOCK,
        validator="CapacityTypeValidator",
        said="Capacity Reservation id is required",
    ),
    Defect(
        name="Capacity Block of a type that does not support it",
        cluster=_block(instance_types=("c5.4xlarge",)),
        code=Code.PC_CAPACITY_TYPE,
        validator="CapacityTypeValidator",
        said="capacity-block",
    ),
    Defect(
        name="Spot for a type that does not support it",
        cluster=_spot(instance_types=("trn2u.48xlarge",)),
        code=Code.PC_CAPACITY_TYPE,
        validator="CapacityTypeValidator",
        said="spot",
        good=_spot(instance_types=("trn1.32xlarge",), spot_price=8.5),
    ),
    Defect(
        name="reservation with both an id and a group",
        cluster=with_resource(
            capacity_reservation=CapacityReservation(
                reservation_id=RESERVATION, resource_group_arn=GROUP.resource_group_arn
            )
        ),
        code=Code.PC_RESERVATION,
        validator=SCHEMA,
        good=with_resource(capacity_reservation=RESERVED),
    ),
    Defect(
        name="one reservation for two types",
        cluster=with_resource(instance_types=FLEXIBLE, capacity_reservation=RESERVED),
        code=Code.PC_RESERVATION,
        validator="CapacityReservationValidator",
        said="Instances parameter",
        good=with_resource(instance_types=FLEXIBLE, capacity_reservation=GROUP),
    ),
    Defect(
        name="one reservation in two subnets",
        cluster=with_resource(queue=TWO_SUBNETS, capacity_reservation=RESERVED),
        code=Code.PC_RESERVATION,
        validator="CapacityReservationValidator",
        said="Instances parameter",
        good=with_resource(queue=TWO_SUBNETS),
    ),
    Defect(
        name="capacity-optimized on demand",
        cluster=with_resource(
            queue={"allocation_strategy": AllocationStrategy.CAPACITY_OPTIMIZED}, instance_types=FLEXIBLE
        ),
        code=Code.PC_ALLOCATION,
        validator="InstancesAllocationStrategyValidator",
        good=with_resource(queue={"allocation_strategy": AllocationStrategy.PRIORITIZED}, instance_types=FLEXIBLE),
    ),
    Defect(
        name="prioritized spot",
        cluster=with_resource(
            queue={"allocation_strategy": AllocationStrategy.PRIORITIZED, "capacity_type": CapacityType.SPOT},
            instance_types=FLEXIBLE,
        ),
        code=Code.PC_ALLOCATION,
        validator="InstancesAllocationStrategyValidator",
        good=with_resource(
            queue={
                "allocation_strategy": AllocationStrategy.CAPACITY_OPTIMIZED_PRIORITIZED,
                "capacity_type": CapacityType.SPOT,
            },
            instance_types=FLEXIBLE,
        ),
    ),
    Defect(
        name="spot price below 0",
        cluster=_spot(spot_price=-1),
        code=Code.PC_SPOT_PRICE,
        validator=SCHEMA,
        good=_spot(spot_price=0.5),
    ),
)
DEFECTS = (*PLACEMENT, *QUEUES, *SUBNETS, *CAPACITY)
