"""A Slurm partition and its instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.capacity_reservation import CapacityReservation
from llm_fleet.parallelcluster.compute_resource import ComputeResource
from llm_fleet.parallelcluster.placement_group import PlacementGroup
from llm_fleet.parallelcluster.queue_options import BlockOptions, QueueOptions
from llm_fleet.parallelcluster.queue_presets import preset_fields, preset_nodes
from llm_fleet.parallelcluster.root_volume import RootVolume
from llm_fleet.rules.parallelcluster.check import check_queue
from llm_fleet.rules.parallelcluster.check_preset import check_preset
from llm_fleet.rules.parallelcluster.terms import AllocationStrategy, CapacityType
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A Slurm partition (`SlurmQueues[]`).

    `trainium`, `gpu`, `capacity_block` and `cpu` know their machines. What no cluster could make right raises
    `FleetError` at once, with every problem of the queue and of its compute resources; the cluster checks the rest.
    """

    name: str
    """1 to 25 lower-case letters, digits and hyphens, a letter first; not `default`."""
    compute_resources: Sequence[ComputeResource]
    """What its nodes are. 50 at most in the whole cluster."""
    capacity_type: CapacityType = CapacityType.ONDEMAND
    """Where its instances come from."""
    allocation_strategy: AllocationStrategy | None = None
    """Which of several instance types EC2 gives. Default of ParallelCluster: the cheapest."""
    subnets: Sequence[ec2.ISubnet | ec2.Subnet] = ()
    """Where its nodes stand; one for EFA. Default: by `availability_zone_id`."""
    availability_zone_id: str | None = None
    """The AZ of its nodes, one that the network has a compute subnet in. Default: the cluster's."""
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    """Security groups beside ParallelCluster's own, which has all that EFA needs. Default: none."""
    assign_public_ip: bool | None = None
    """Whether its nodes get public addresses; never with several network cards. Default: as the subnet does."""
    placement_group: PlacementGroup | None = None
    """Whether its instances stand close together. Default: each compute resource's, one group with EFA."""
    exclusive: bool | None = None
    """Whether a job has its nodes to itself. Default: with accelerators, which Slurm cannot share out here."""
    root_volume: RootVolume | None = None
    """What its nodes boot from. Default: gp3 of the image's size, encrypted."""
    scratch_mount_dir: str | None = None
    """Where the local disks are mounted, all as one. What lies there goes with the node.

    Default: /scratch; the presets take /local_scratch."""
    capacity_reservation: CapacityReservation | None = None
    """Where its instances are reserved. Default: nowhere."""
    image_id: str | None = None
    """An image of your own, made from ParallelCluster's of exactly this version. Default: the cluster's."""
    gpu_health_check: bool | None = None
    """Whether NVIDIA's diagnostics run before a job starts. Default: not; the GPU presets do."""
    custom_slurm_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further settings of its partition. Default: none."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of its instances. Default: the cluster's."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of a queue that have no field here, in ParallelCluster's spelling, e.g. `{"Networking": {"Proxy": …}}`.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached: that role must hold them.
    """

    def __post_init__(self) -> None:
        """Refuse what no cluster could make right."""
        raise_problems(check_queue(self), subject=f"Queue {self.name}")

    @classmethod
    def trainium(
        cls,
        name: str,
        *,
        instance_type: str = "trn1.32xlarge",
        max_count: int,
        min_count: int = 0,
        spot: bool = False,
        **options: Unpack[QueueOptions],
    ) -> "Queue":
        """Return a queue of Trainium instances for training; `options` are fields of the queue and of its nodes.

        A job has its nodes to itself, for Slurm cannot count Neuron devices here. EFA is on where the type has it, in
        one placement group. The local disks are at /local_scratch. Hyper-threading stays on: a job that asks
        `--cpus-per-task 128` on trn1.32xlarge finds 128 CPUs only with it, and 64 without. Spot capacity is for jobs
        that can be stopped at any time; reserved capacity is `capacity_reservation`.

        Raises `FleetError` when `instance_type` is no Trainium type, or anything else cannot be.
        """
        raise_problems(check_preset("trainium", instance_type), subject=f"Queue.trainium {name}")
        return cls(
            name=name,
            capacity_type=CapacityType.SPOT if spot else CapacityType.ONDEMAND,
            compute_resources=[preset_nodes(name, [instance_type], min_count, max_count, options)],
            **preset_fields(options, instance_type, exclusive=True),
        )

    @classmethod
    def gpu(
        cls,
        name: str,
        *,
        instance_type: str,
        max_count: int,
        min_count: int = 0,
        spot: bool = False,
        **options: Unpack[QueueOptions],
    ) -> "Queue":
        """Return a queue of GPU instances for training; `options` are fields of the queue and of its nodes.

        As `trainium`; and on NVIDIA's GPUs their diagnostics run before each job, so that a broken GPU costs minutes
        and not days.

        Raises `FleetError` when `instance_type` has no GPUs, or anything else cannot be.
        """
        raise_problems(check_preset("gpu", instance_type), subject=f"Queue.gpu {name}")
        return cls(
            name=name,
            capacity_type=CapacityType.SPOT if spot else CapacityType.ONDEMAND,
            compute_resources=[preset_nodes(name, [instance_type], min_count, max_count, options)],
            **preset_fields(options, instance_type, exclusive=True),
        )

    @classmethod
    def capacity_block(
        cls, name: str, *, instance_type: str, count: int, reservation_id: str, **options: Unpack[BlockOptions]
    ) -> "Queue":
        """Return a queue of the instances of a Capacity Block; `options` are fields of the queue and of its nodes.

        All `count` instances are static, as ParallelCluster asks of it; until the block begins their nodes are down.
        AWS places them itself, so there is no placement group. The rest is as `trainium` and `gpu`. Its subnet must be
        in the AZ of the block.

        Raises `FleetError` when the type is not sold as Capacity Blocks, or anything else cannot be.
        """
        return cls(
            name=name,
            capacity_type=CapacityType.CAPACITY_BLOCK,
            compute_resources=[preset_nodes(name, [instance_type], count, count, options)],
            capacity_reservation=CapacityReservation.id(reservation_id),
            **preset_fields(options, instance_type, exclusive=True),
        )

    @classmethod
    def cpu(
        cls,
        name: str,
        *,
        instance_type: str | Sequence[str],
        max_count: int,
        min_count: int = 0,
        spot: bool = False,
        **options: Unpack[QueueOptions],
    ) -> "Queue":
        """Return a queue of instances without accelerators, e.g. to prepare data; `options` are fields as above.

        Several jobs share a node. With several instance types, of like CPUs, EC2 gives what it has.

        Raises `FleetError` for anything that cannot be.
        """
        types = [instance_type] if isinstance(instance_type, str) else list(instance_type)
        return cls(
            name=name,
            capacity_type=CapacityType.SPOT if spot else CapacityType.ONDEMAND,
            compute_resources=[preset_nodes(name, types, min_count, max_count, options)],
            **preset_fields(options, *types),
        )

    @property
    def subnet_ids(self) -> Sequence[str]:
        """The ids of `subnets`."""
        return tuple(subnet.subnet_id for subnet in self.subnets)

    @property
    def security_group_ids(self) -> Sequence[str]:
        """The ids of `security_groups`."""
        return tuple(group.security_group_id for group in self.security_groups)
