"""The further fields of `Queue` and `ComputeResource`, as keywords of the presets, so that a misspelt one is seen."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.capacity_reservation import CapacityReservation
from llm_fleet.parallelcluster.placement_group import PlacementGroup
from llm_fleet.parallelcluster.root_volume import RootVolume


class ResourceOptions(TypedDict, total=False):
    """What `ComputeResource` says of each; a test keeps the two alike."""

    efa: bool | None
    disable_simultaneous_multithreading: bool
    spot_price: float | None
    schedulable_memory_mib: int | None
    static_node_priority: int | None
    dynamic_node_priority: int | None


class BlockOptions(ResourceOptions, total=False):
    """What `Queue` says of each; a test keeps the two alike."""

    subnets: Sequence[ec2.ISubnet | ec2.Subnet]
    availability_zone_id: str | None
    security_groups: Sequence[ec2.ISecurityGroup]
    assign_public_ip: bool | None
    placement_group: PlacementGroup | None
    exclusive: bool | None
    root_volume: RootVolume | None
    scratch_mount_dir: str | None
    image_id: str | None
    gpu_health_check: bool | None
    custom_slurm_settings: Mapping[str, Any]
    tags: Mapping[str, str]
    overrides: Mapping[str, Any]


class QueueOptions(BlockOptions, total=False):
    """The same, where capacity may be reserved or not."""

    capacity_reservation: CapacityReservation | None
