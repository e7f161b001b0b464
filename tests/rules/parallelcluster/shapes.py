"""Clusters as plain values, as the rules see them: no CDK, no file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llm_fleet.rules.parallelcluster.part_protocols import (
    AccountingLike,
    CapacityReservationLike,
    DcvLike,
    PlacementGroupLike,
    RootVolumeLike,
)
from llm_fleet.rules.parallelcluster.terms import (
    AllocationStrategy,
    CapacityType,
    InternalStorage,
    QueueUpdateStrategy,
    ScalingStrategy,
    StorageKind,
)

SUBNET = "subnet-0123456789abcdef0"
OTHER_SUBNET = "subnet-0123456789abcdef1"
RESERVATION = "cr-0123456789abcdef0"


@dataclass(frozen=True, kw_only=True)
class Placement:
    enabled: bool = True
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reservation:
    reservation_id: str | None = None
    resource_group_arn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Root:
    size_gib: int | None = None
    volume_type: str | None = None
    iops: int | None = None
    throughput_mib_s: int | None = None
    encrypted: bool | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteDesktop:
    port: int | None = None
    allowed_ips: str | None = None


@dataclass(frozen=True, kw_only=True)
class Head:
    instance_type: str = "m5.2xlarge"
    subnet_id: str | None = SUBNET
    elastic_ip: bool | str = False
    security_group_ids: Sequence[str] = ()
    key_name: str | None = None
    allowed_ips: str | None = None
    root_volume: RootVolumeLike | None = None
    scratch_mount_dir: str | None = None
    disable_simultaneous_multithreading: bool = False
    internal_storage: InternalStorage = InternalStorage.EBS
    image_id: str | None = None
    imds_secured: bool = True
    dcv: DcvLike | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Resource:
    name: str = "nodes"
    instance_types: Sequence[str] = ("c5.4xlarge",)
    min_count: int = 0
    max_count: int = 10
    efa: bool | None = None
    placement_group: PlacementGroupLike | None = None
    spot_price: float | None = None
    disable_simultaneous_multithreading: bool = False
    schedulable_memory_mib: int | None = None
    capacity_reservation: CapacityReservationLike | None = None
    gpu_health_check: bool | None = None
    custom_slurm_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    static_node_priority: int | None = None
    dynamic_node_priority: int | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Partition:
    name: str = "work"
    compute_resources: Sequence[Resource] = (Resource(),)
    capacity_type: CapacityType = CapacityType.ONDEMAND
    allocation_strategy: AllocationStrategy | None = None
    subnet_ids: Sequence[str] = (SUBNET,)
    availability_zone_id: str | None = None
    security_group_ids: Sequence[str] = ()
    assign_public_ip: bool | None = None
    placement_group: PlacementGroupLike | None = None
    exclusive: bool | None = None
    root_volume: RootVolumeLike | None = None
    scratch_mount_dir: str | None = None
    capacity_reservation: CapacityReservationLike | None = None
    image_id: str | None = None
    gpu_health_check: bool | None = None
    custom_slurm_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Pool:
    name: str = "users"
    instance_type: str = "m5.large"
    count: int = 1
    subnet_id: str | None = SUBNET
    security_group_ids: Sequence[str] = ()
    gracetime_minutes: int | None = None
    allowed_ips: str | None = None
    image_id: str | None = None
    dcv: DcvLike | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Storage:
    name: str = "shared"
    kind: StorageKind = StorageKind.EBS
    mount_dir: str = "/shared"
    existing_id: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Slurm:
    scaledown_idletime_minutes: int | None = None
    scaling_strategy: ScalingStrategy = ScalingStrategy.ALL_OR_NOTHING
    queue_update_strategy: QueueUpdateStrategy = QueueUpdateStrategy.DRAIN
    memory_based_scheduling: bool = False
    custom_settings: Sequence[Mapping[str, Any]] = ()
    custom_settings_file: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Database:
    database_uri: str | None = "db.example.com:3306"
    user_name: str | None = "slurm"
    password_secret_arn: str | None = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
    database_name: str | None = None
    slurmdbd_host: str | None = None
    slurmdbd_port: int | None = None
    munge_key_secret_arn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cluster:
    cluster_name: str = "train"
    scheduler: str = "slurm"
    region: str = "us-west-2"
    version: str = "3.16.1"
    os: str = "alinux2023"
    image_id: str | None = None
    head_node: Head = Head()
    queues: Sequence[Partition] = (Partition(),)
    login_pools: Sequence[Pool] = ()
    shared_storage: Sequence[Storage] = ()
    slurm: Slurm = Slurm()
    accounting: AccountingLike | None = None
    detailed_monitoring: bool = False
    log_retention_days: int = 180
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])


TRN1 = Resource(name="trn1", instance_types=("trn1.32xlarge",), max_count=4)


def with_head(**changes: Any) -> Cluster:
    """A good cluster with another head node."""
    return Cluster(head_node=replace(Head(), **changes))


def with_queue(**changes: Any) -> Cluster:
    """A good cluster with another queue."""
    return Cluster(queues=(replace(Partition(), **changes),))


def with_resource(*, queue: Mapping[str, Any] | None = None, **changes: Any) -> Cluster:
    """A good cluster with another compute resource, in another queue where `queue` says so."""
    return with_queue(compute_resources=(replace(Resource(), **changes),), **(queue or {}))


def with_pool(**changes: Any) -> Cluster:
    """A good cluster with a login pool."""
    return Cluster(login_pools=(replace(Pool(), **changes),))


def with_storage(*storages: Storage, **changes: Any) -> Cluster:
    """A good cluster with shared storage."""
    return Cluster(shared_storage=storages or (replace(Storage(), **changes),))


def with_slurm(**changes: Any) -> Cluster:
    """A good cluster with other settings of Slurm."""
    return Cluster(slurm=replace(Slurm(), **changes))
