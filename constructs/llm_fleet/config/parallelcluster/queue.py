"""A queue of a ParallelCluster."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from pydantic import Field, PrivateAttr, model_validator

from llm_fleet.config.parallelcluster.choices import Capacity
from llm_fleet.config.parallelcluster.compute_resource import ComputeResourceConfig
from llm_fleet.config.parallelcluster.instances import InstancesModel
from llm_fleet.config.parallelcluster.other_words import OF_QUEUE
from llm_fleet.config.parallelcluster.root_volume import RootVolumeConfig, or_size
from llm_fleet.rules.parallelcluster.terms import AllocationStrategy, CapacityType
from llm_fleet.spec.model import name_entries
from llm_fleet.spec.values import SecurityGroupId

OF_ITS_RESOURCE = (
    "instance_type",
    "listed_types",
    "max_count",
    "min_count",
    "efa",
    "hyperthreading",
    "spot_price",
    "schedulable_memory_mib",
)
"""What a queue says of its only compute resource."""


class QueueConfig(InstancesModel):
    """A queue, Slurm's partition. Its key is the queue's name.

    With one kind of instances it says `type`, `min` and `max` itself; with several it has `resources`.
    """

    written_as: ClassVar[Mapping[str, str]] = {
        "instance_types": "type",
        "disable_simultaneous_multithreading": "hyperthreading",
        "capacity_type": "capacity",
        "compute_resources": "resources",
    }
    other_words: ClassVar[Mapping[str, str]] = OF_QUEUE

    resources: Mapping[str, ComputeResourceConfig] = {}
    """Several kinds of instances, by name, in place of `type`, `min`, `max` and what else is of one kind."""
    capacity: Capacity = Capacity.ON_DEMAND
    """`on-demand`, `spot` or `capacity-block`, which needs a `reservation`. Default: `on-demand`."""
    allocation_strategy: AllocationStrategy | None = Field(default=None, alias="allocation")
    """Which of several `types` EC2 gives. Default: the cheapest that it has."""
    exclusive: bool | None = None
    """Whether a job has whole nodes. Default: yes with accelerators, which Slurm cannot share out here."""
    root_volume: RootVolumeConfig | None = Field(default=None, json_schema_extra=or_size)
    """The root volume of its nodes. Default: ParallelCluster's, encrypted."""
    scratch_mount_dir: str | None = Field(default=None, alias="scratch")
    """Where its nodes mount their local disks, which are emptied when a node goes. Default: `/scratch`."""
    image_id: str | None = Field(default=None, alias="image")
    """An image of its own, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id of its compute subnet. Default: the cluster's."""
    subnet_ids: tuple[str, ...] = Field(default=(), alias="subnets")
    """Subnets of its own, by id. Default: the compute subnet of its AZ."""
    security_group_ids: tuple[SecurityGroupId, ...] = Field(default=(), alias="security_groups")
    """Further security groups of its nodes, by id. Default: none."""
    assign_public_ip: bool | None = Field(default=None, alias="public_ip")
    """Whether its nodes have public addresses. Default: as the subnet says, and the fleet's subnets say no."""

    _resources: tuple[ComputeResourceConfig, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _tell_resources(self) -> Self:
        name_entries(self.resources)
        return self

    def called(self, name: str) -> None:
        """Take `name`, for the queue and for the compute resource that it is itself."""
        super().called(name)
        self._resources = tuple(self.resources.values()) or (self._own_resource(name),)

    @property
    def compute_resources(self) -> Sequence[ComputeResourceConfig]:
        """Its compute resources; one of the queue's own name where it says `type` itself."""
        return self._resources

    @property
    def capacity_type(self) -> CapacityType:
        """ParallelCluster's word for `capacity`."""
        return self.capacity.type

    def _own_resource(self, name: str) -> ComputeResourceConfig:
        given = {attribute: getattr(self, attribute) for attribute in OF_ITS_RESOURCE}
        resource = ComputeResourceConfig.model_construct(**given)
        resource.called(name)
        return resource
