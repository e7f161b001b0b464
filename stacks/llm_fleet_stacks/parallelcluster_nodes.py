"""The nodes that a fleet file describes for a ParallelCluster, as values of the construct."""

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.config.parallelcluster.compute_resource import ComputeResourceConfig
from llm_fleet.config.parallelcluster.dcv import DcvConfig
from llm_fleet.config.parallelcluster.head_node import HeadNodeConfig
from llm_fleet.config.parallelcluster.login_pool import LoginPoolConfig
from llm_fleet.config.parallelcluster.queue import QueueConfig
from llm_fleet.config.parallelcluster.root_volume import RootVolumeConfig
from llm_fleet.config.parallelcluster.values import Placement, Reservation
from llm_fleet.parallelcluster.capacity_reservation import CapacityReservation
from llm_fleet.parallelcluster.compute_resource import ComputeResource
from llm_fleet.parallelcluster.dcv import Dcv
from llm_fleet.parallelcluster.head_node import HeadNode
from llm_fleet.parallelcluster.login_pool import LoginPool
from llm_fleet.parallelcluster.placement_group import PlacementGroup
from llm_fleet.parallelcluster.queue import Queue
from llm_fleet.parallelcluster.root_volume import RootVolume
from llm_fleet.references import subnet_of


def head_node_from(scope: Construct, config: HeadNodeConfig) -> HeadNode:
    """Return the head node that `config` describes; what it names by id is imported below `scope`."""
    return HeadNode(
        instance_type=config.instance_type,
        subnet=subnet_of(scope, "Subnet-head", config.subnet_id) if config.subnet_id else None,
        elastic_ip=config.elastic_ip,
        security_groups=_security_groups(scope, "head", config.security_group_ids),
        key_name=config.key_name,
        allowed_ips=config.allowed_ips,
        root_volume=_root_volume(config.root_volume),
        scratch_mount_dir=config.scratch_mount_dir,
        disable_simultaneous_multithreading=config.disable_simultaneous_multithreading,
        internal_storage=config.internal_storage,
        image_id=config.image_id,
        imds_secured=config.imds_secured,
        dcv=_dcv(config.dcv),
        overrides=config.overrides,
    )


def queue_from(scope: Construct, config: QueueConfig) -> Queue:
    """Return the queue that `config` describes, likewise."""
    name = f"queue-{config.name}"
    return Queue(
        name=config.name,
        compute_resources=[_compute_resource(resource) for resource in config.compute_resources],
        capacity_type=config.capacity_type,
        allocation_strategy=config.allocation_strategy,
        subnets=[
            subnet_of(scope, f"Subnet-{name}-{index}", subnet_id) for index, subnet_id in enumerate(config.subnet_ids)
        ],
        availability_zone_id=config.availability_zone_id,
        security_groups=_security_groups(scope, name, config.security_group_ids),
        assign_public_ip=config.assign_public_ip,
        placement_group=_placement_group(config.placement_group),
        exclusive=config.exclusive,
        root_volume=_root_volume(config.root_volume),
        scratch_mount_dir=config.scratch_mount_dir,
        capacity_reservation=_reservation(config.capacity_reservation),
        image_id=config.image_id,
        gpu_health_check=config.gpu_health_check,
        custom_slurm_settings=config.custom_slurm_settings,
        tags=config.tags,
        overrides=config.overrides,
    )


def login_pool_from(scope: Construct, config: LoginPoolConfig) -> LoginPool:
    """Return the pool that `config` describes, likewise."""
    name = f"login-{config.name}"
    return LoginPool(
        name=config.name,
        instance_type=config.instance_type,
        count=config.count,
        subnet=subnet_of(scope, f"Subnet-{name}", config.subnet_id) if config.subnet_id else None,
        security_groups=_security_groups(scope, name, config.security_group_ids),
        gracetime_minutes=config.gracetime_minutes,
        allowed_ips=config.allowed_ips,
        image_id=config.image_id,
        dcv=_dcv(config.dcv),
        overrides=config.overrides,
    )


def _compute_resource(config: ComputeResourceConfig) -> ComputeResource:
    return ComputeResource(
        name=config.name,
        instance_types=config.instance_types,
        min_count=config.min_count,
        max_count=config.max_count,
        efa=config.efa,
        placement_group=_placement_group(config.placement_group),
        spot_price=config.spot_price,
        disable_simultaneous_multithreading=config.disable_simultaneous_multithreading,
        schedulable_memory_mib=config.schedulable_memory_mib,
        capacity_reservation=_reservation(config.capacity_reservation),
        gpu_health_check=config.gpu_health_check,
        custom_slurm_settings=config.custom_slurm_settings,
        tags=config.tags,
        static_node_priority=config.static_node_priority,
        dynamic_node_priority=config.dynamic_node_priority,
        overrides=config.overrides,
    )


def _root_volume(config: RootVolumeConfig | None) -> RootVolume | None:
    if config is None:
        return None
    return RootVolume(
        size_gib=config.size_gib,
        volume_type=config.volume_type,
        iops=config.iops,
        throughput_mib_s=config.throughput_mib_s,
        encrypted=config.encrypted,
    )


def _dcv(config: DcvConfig | None) -> Dcv | None:
    return None if config is None else Dcv(port=config.port, allowed_ips=config.allowed_ips)


def _placement_group(placement: Placement | None) -> PlacementGroup | None:
    return None if placement is None else PlacementGroup(enabled=placement.enabled, name=placement.name)


def _reservation(reservation: Reservation | None) -> CapacityReservation | None:
    if reservation is None:
        return None
    return CapacityReservation(
        reservation_id=reservation.reservation_id, resource_group_arn=reservation.resource_group_arn
    )


def _security_groups(scope: Construct, name: str, ids: tuple[str, ...]) -> list[ec2.ISecurityGroup]:
    return [
        ec2.SecurityGroup.from_security_group_id(scope, f"SecurityGroup-{name}-{index}", group_id)
        for index, group_id in enumerate(ids)
    ]
