"""What a queue of one kind of instances and a compute resource have in common."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from llm_fleet.catalog.ec2_instances import ec2_instance_names
from llm_fleet.config.parallelcluster.values import CapacityReservation, PlacementGroup
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Mebibytes


def _types(schema: dict[str, Any]) -> None:
    schema["examples"] = ["trn1.32xlarge"]
    schema["enum"] = sorted(ec2_instance_names())


Ec2Type = Annotated[str, Field(json_schema_extra=_types)]
"""An instance type by EC2's name. Which there are is for the rule to tell, and for the schema to offer."""

DEFAULT_MAX = 10
"""ParallelCluster's own default of `MaxCount`."""


class InstancesModel(NamedModel):
    """Like instances of a queue."""

    instance_type: Ec2Type | None = Field(default=None, alias="type")
    """The instance type, as EC2 has it, e.g. `trn1.32xlarge`."""
    listed_types: tuple[Ec2Type, ...] = Field(default=(), alias="types")
    """Several types in place of `type`, of which EC2 gives what it has."""
    max_count: int = Field(default=DEFAULT_MAX, alias="max")
    """How many instances there may be. Default: 10."""
    min_count: int = Field(default=0, alias="min")
    """How many always run. Default: 0; all come with the jobs and go when they idle."""
    efa: bool | None = None
    """Whether they have EFA. Default: yes where the type has it."""
    hyperthreading: bool = True
    """Whether Slurm sees two CPUs for each core, where the processor has them. Default: yes."""
    spot_price: float | None = None
    """The most to be paid for a spot instance, in USD an hour. Default: the on-demand price."""
    schedulable_memory_mib: Mebibytes | None = Field(default=None, alias="memory")
    """Memory that jobs may have of a node, e.g. `480 GiB`. Default: 95 % of what the type has."""
    placement_group: PlacementGroup | None = Field(default=None, alias="placement")
    """Whether they are placed close together, or the name of a placement group. Default: yes with EFA."""
    capacity_reservation: CapacityReservation | None = Field(default=None, alias="reservation")
    """A capacity reservation, `cr-…`, or the ARN of a resource group of several. Default: none."""
    gpu_health_check: bool | None = None
    """Whether GPUs are tested before each job. Default: no."""
    custom_slurm_settings: Mapping[str, Any] = Field(default={}, alias="slurm")
    """Further settings, in the words of slurm.conf. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the instances, next to those of the cluster. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""

    @property
    def instance_types(self) -> Sequence[str]:
        """Its types, however they are written."""
        return self.listed_types or (() if self.instance_type is None else (self.instance_type,))

    @property
    def disable_simultaneous_multithreading(self) -> bool:
        """`hyperthreading`, the other way round."""
        return not self.hyperthreading
