"""Like instances of a queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.parallelcluster.capacity_reservation import CapacityReservation
from llm_fleet.parallelcluster.placement_group import PlacementGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeResource:
    """Like instances of a queue (`ComputeResources[]`). Its queue checks it."""

    name: str
    """1 to 25 lower-case letters, digits and hyphens, a letter first. It is part of every node's name."""
    instance_types: Sequence[str] = ()
    """EC2's names. Several must have like CPUs, GPUs and EFA; none is for a Capacity Block, whose type it takes."""
    min_count: int = 0
    """How many always run. 0: nothing is paid for without a job, and the head node waits for none when it is made."""
    max_count: int = 10
    """How many run at most. Default: 10, as ParallelCluster's."""
    efa: bool | None = None
    """Whether nodes talk by EFA. Default: where every instance type has it and the queue is in one subnet."""
    placement_group: PlacementGroup | None = None
    """Whether instances stand close together. Default: as the queue."""
    spot_price: float | None = None
    """The most that a spot instance may cost, USD an hour. Default: the on-demand price."""
    disable_simultaneous_multithreading: bool = False
    """Whether hyper-threading is off, which leaves half the CPUs to Slurm.

    On by default: jobs ask for the CPUs that the instance type promises (`--cpus-per-task 128` on trn1.32xlarge).
    """
    schedulable_memory_mib: int | None = None
    """Memory that jobs may ask for. Default of ParallelCluster: 95 % of what EC2 promises."""
    capacity_reservation: CapacityReservation | None = None
    """Where its instances are reserved. Default: as the queue."""
    gpu_health_check: bool | None = None
    """Whether NVIDIA's diagnostics run before a job starts. Default: as the queue."""
    custom_slurm_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further settings of its line in Slurm's node table. Default: none."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of its instances, over the queue's. Default: none."""
    static_node_priority: int | None = None
    """The weight of nodes that always run; Slurm takes lighter ones first. Default of ParallelCluster: 1."""
    dynamic_node_priority: int | None = None
    """The weight of nodes that come and go. Default of ParallelCluster: 1000."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of a compute resource that have no field here, e.g. `{"LaunchTemplateOverrides": {…}}`."""
