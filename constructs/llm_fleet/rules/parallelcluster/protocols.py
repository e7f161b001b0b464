"""What the rules of ParallelCluster ask of a cluster and its nodes: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
Any value may be an unresolved CDK token; the rules pass over those. An attribute is named in the user's words; the
docstring names ParallelCluster's key. `None` leaves a key out unless its docstring says more.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from llm_fleet.rules.parallelcluster.part_protocols import (
    AccountingLike,
    CapacityReservationLike,
    DcvLike,
    PlacementGroupLike,
    RootVolumeLike,
    SharedStorageLike,
    SlurmSettingsLike,
)
from llm_fleet.rules.parallelcluster.terms import AllocationStrategy, CapacityType, InternalStorage


class HeadNodeLike(Protocol):
    """The head node (`HeadNode`)."""

    @property
    def instance_type(self) -> str:
        """`InstanceType`, EC2's name."""
        ...

    @property
    def subnet_id(self) -> str | None:
        """`Networking/SubnetId`; `None` is not known yet."""
        ...

    @property
    def elastic_ip(self) -> bool | str:
        """`Networking/ElasticIp`: whether it has a public address, or the id of one."""
        ...

    @property
    def security_group_ids(self) -> Sequence[str]:
        """`Networking/AdditionalSecurityGroups`."""
        ...

    @property
    def key_name(self) -> str | None:
        """`Ssh/KeyName`."""
        ...

    @property
    def allowed_ips(self) -> str | None:
        """`Ssh/AllowedIps`; `None` lets nobody in."""
        ...

    @property
    def root_volume(self) -> RootVolumeLike | None:
        """`LocalStorage/RootVolume`."""
        ...

    @property
    def scratch_mount_dir(self) -> str | None:
        """`LocalStorage/EphemeralVolume/MountDir`."""
        ...

    @property
    def disable_simultaneous_multithreading(self) -> bool:
        """`DisableSimultaneousMultithreading`."""
        ...

    @property
    def internal_storage(self) -> InternalStorage:
        """`SharedStorageType`."""
        ...

    @property
    def image_id(self) -> str | None:
        """`Image/CustomAmi`."""
        ...

    @property
    def imds_secured(self) -> bool:
        """`Imds/Secured`: only root and administrators reach the instance metadata."""
        ...

    @property
    def dcv(self) -> DcvLike | None:
        """`Dcv`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...


class ComputeResourceLike(Protocol):
    """Like instances of a queue (`ComputeResources[]`)."""

    @property
    def name(self) -> str:
        """`Name`."""
        ...

    @property
    def instance_types(self) -> Sequence[str]:
        """EC2's names: one is `InstanceType`, several `Instances`; none with a Capacity Block: the reservation's."""
        ...

    @property
    def min_count(self) -> int:
        """`MinCount`: static nodes, which always run."""
        ...

    @property
    def max_count(self) -> int:
        """`MaxCount`."""
        ...

    @property
    def efa(self) -> bool | None:
        """`Efa/Enabled`; `None` takes the default of the instance type."""
        ...

    @property
    def placement_group(self) -> PlacementGroupLike | None:
        """`Networking/PlacementGroup`; `None` takes the queue's."""
        ...

    @property
    def spot_price(self) -> float | None:
        """`SpotPrice`, USD an hour."""
        ...

    @property
    def disable_simultaneous_multithreading(self) -> bool:
        """`DisableSimultaneousMultithreading`."""
        ...

    @property
    def schedulable_memory_mib(self) -> int | None:
        """`SchedulableMemory`."""
        ...

    @property
    def capacity_reservation(self) -> CapacityReservationLike | None:
        """`CapacityReservationTarget`."""
        ...

    @property
    def gpu_health_check(self) -> bool | None:
        """`HealthChecks/Gpu/Enabled`."""
        ...

    @property
    def custom_slurm_settings(self) -> Mapping[str, Any]:
        """`CustomSlurmSettings`."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """`Tags`."""
        ...

    @property
    def static_node_priority(self) -> int | None:
        """`StaticNodePriority`."""
        ...

    @property
    def dynamic_node_priority(self) -> int | None:
        """`DynamicNodePriority`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...


class QueueLike(Protocol):
    """A Slurm partition (`SlurmQueues[]`)."""

    @property
    def name(self) -> str:
        """`Name`."""
        ...

    @property
    def compute_resources(self) -> Sequence[ComputeResourceLike]:
        """`ComputeResources`."""
        ...

    @property
    def capacity_type(self) -> CapacityType:
        """`CapacityType`."""
        ...

    @property
    def allocation_strategy(self) -> AllocationStrategy | None:
        """`AllocationStrategy`."""
        ...

    @property
    def subnet_ids(self) -> Sequence[str]:
        """`Networking/SubnetIds`; empty takes the cluster's compute subnet."""
        ...

    @property
    def availability_zone_id(self) -> str | None:
        """AZ of its subnet in the fleet's network; `None` takes the cluster's."""
        ...

    @property
    def security_group_ids(self) -> Sequence[str]:
        """`Networking/AdditionalSecurityGroups`."""
        ...

    @property
    def assign_public_ip(self) -> bool | None:
        """`Networking/AssignPublicIp`."""
        ...

    @property
    def placement_group(self) -> PlacementGroupLike | None:
        """`Networking/PlacementGroup`; `None` takes the default of the instance types."""
        ...

    @property
    def exclusive(self) -> bool | None:
        """`JobExclusiveAllocation`; `None` takes the default of the instance types."""
        ...

    @property
    def root_volume(self) -> RootVolumeLike | None:
        """`ComputeSettings/LocalStorage/RootVolume`."""
        ...

    @property
    def scratch_mount_dir(self) -> str | None:
        """`ComputeSettings/LocalStorage/EphemeralVolume/MountDir`; `None` is /scratch, where there are disks."""
        ...

    @property
    def capacity_reservation(self) -> CapacityReservationLike | None:
        """`CapacityReservationTarget`."""
        ...

    @property
    def image_id(self) -> str | None:
        """`Image/CustomAmi`."""
        ...

    @property
    def gpu_health_check(self) -> bool | None:
        """`HealthChecks/Gpu/Enabled`."""
        ...

    @property
    def custom_slurm_settings(self) -> Mapping[str, Any]:
        """`CustomSlurmSettings`."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """`Tags`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...


class LoginPoolLike(Protocol):
    """Login nodes (`LoginNodes/Pools[]`)."""

    @property
    def name(self) -> str:
        """`Name`."""
        ...

    @property
    def instance_type(self) -> str:
        """`InstanceType`."""
        ...

    @property
    def count(self) -> int:
        """`Count`."""
        ...

    @property
    def subnet_id(self) -> str | None:
        """`Networking/SubnetIds`, exactly one; `None` takes the cluster's."""
        ...

    @property
    def security_group_ids(self) -> Sequence[str]:
        """`Networking/AdditionalSecurityGroups`."""
        ...

    @property
    def gracetime_minutes(self) -> int | None:
        """`GracetimePeriod`."""
        ...

    @property
    def allowed_ips(self) -> str | None:
        """`Ssh/AllowedIps`; `None` lets nobody in."""
        ...

    @property
    def image_id(self) -> str | None:
        """`Image/CustomAmi`."""
        ...

    @property
    def dcv(self) -> DcvLike | None:
        """`Dcv`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...


class ParallelClusterLike(Protocol):
    """A cluster with every neighbour's say in it."""

    @property
    def cluster_name(self) -> str:
        """Its name as the user gave it; ParallelCluster's has a hash behind it (see `name_with_hash`)."""
        ...

    @property
    def scheduler(self) -> str:
        """`Scheduler`: only `slurm` is left."""
        ...

    @property
    def region(self) -> str:
        """`Region`."""
        ...

    @property
    def version(self) -> str:
        """Version of ParallelCluster."""
        ...

    @property
    def os(self) -> str:
        """`Image/Os`."""
        ...

    @property
    def image_id(self) -> str | None:
        """`Image/CustomAmi`."""
        ...

    @property
    def head_node(self) -> HeadNodeLike:
        """`HeadNode`."""
        ...

    @property
    def queues(self) -> Sequence[QueueLike]:
        """`SlurmQueues`."""
        ...

    @property
    def login_pools(self) -> Sequence[LoginPoolLike]:
        """`LoginNodes/Pools`."""
        ...

    @property
    def shared_storage(self) -> Sequence[SharedStorageLike]:
        """`SharedStorage`, those of the fleet among them."""
        ...

    @property
    def slurm(self) -> SlurmSettingsLike:
        """`SlurmSettings`."""
        ...

    @property
    def accounting(self) -> AccountingLike | None:
        """Accounting outside the cluster; `None` for none."""
        ...

    @property
    def detailed_monitoring(self) -> bool:
        """`Monitoring/DetailedMonitoring`."""
        ...

    @property
    def log_retention_days(self) -> int:
        """`Monitoring/Logs/CloudWatch/RetentionInDays`."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """`Tags`."""
        ...

    @property
    def overrides(self) -> Mapping[str, Any]:
        """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
        ...
