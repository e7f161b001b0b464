"""Queues of a ParallelCluster and their instances."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, InstanceOf, WithJsonSchema

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.rules.terms import AllocationStrategy, CapacityType
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.parallelcluster_nodes import Ec2Type, RootVolume
from llm_fleet.spec.references import SECURITY_GROUP, SUBNET, OwnSecurityGroup, Subnet
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import InFile, Mebibytes, Named, Several, wrong_value


class Capacity(StrEnum):
    """Purchase option of a queue's instances, as values of the fleet file."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"

    @property
    def type(self) -> CapacityType:
        """ParallelCluster's value."""
        return CapacityType[self.name.replace("ON_DEMAND", "ONDEMAND")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    """Placement group of a queue's instances (`Networking/PlacementGroup`).

    Create one with `managed`, `named` or `none`. ParallelCluster rejects EFA without one of them.
    """

    enabled: bool
    """`Enabled`."""
    name: str | None = None
    """Name of an existing placement group (`Name`)."""

    @classmethod
    def managed(cls) -> "PlacementGroup":
        """Return a placement group that ParallelCluster creates for each compute resource, and deletes with it."""
        return cls(enabled=True)

    @classmethod
    def named(cls, name: str) -> "PlacementGroup":
        """Return the existing placement group with this name."""
        return cls(enabled=True, name=name)

    @classmethod
    def none(cls) -> "PlacementGroup":
        """Return that no placement group is used: a reservation has its own, or several AZs are used."""
        return cls(enabled=False)

    @classmethod
    def read(cls, written: Any) -> "PlacementGroup":
        """Read `true`, `false`, or the name of an existing placement group, from a fleet file."""
        if isinstance(written, bool):
            return cls(enabled=written)
        if isinstance(written, str):
            return cls.named(written)
        raise wrong_value(
            Code.WRONG_TYPE,
            "this must be true, false or the name of a placement group",
            allowed="true, false, or the name of an existing placement group",
            remedy="write `true` to create a placement group",
        )


_Placement = Annotated[
    InstanceOf[PlacementGroup],
    InFile(Any, PlacementGroup.read),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
]
_RESERVATION = re.compile(r"cr-[0-9a-f]+")
_GROUP_ARN = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+")
_RESERVATION_EXAMPLE = "cr-0123456789abcdef0"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityReservation:
    """Reserved capacity (`CapacityReservationTarget`). Create one with `id` or `resource_group`."""

    reservation_id: str | None = None
    """`CapacityReservationId`, of an ODCR or a Capacity Block."""
    resource_group_arn: str | None = None
    """`CapacityReservationResourceGroupArn`."""

    @classmethod
    def id(cls, reservation_id: str) -> "CapacityReservation":
        """Return an On-Demand Capacity Reservation or a Capacity Block, e.g. `cr-0123456789abcdef0`.

        It must be for the queue's instance type, and in the AZ of the queue's subnet.
        """
        return cls(reservation_id=reservation_id)

    @classmethod
    def resource_group(cls, arn: str) -> "CapacityReservation":
        """Return a service-linked resource group of capacity reservations, by its ARN."""
        return cls(resource_group_arn=arn)

    @classmethod
    def read(cls, written: Any) -> "CapacityReservation":
        """Read the id of a capacity reservation, or the ARN of a resource group of several, from a fleet file."""
        if isinstance(written, str):
            if _RESERVATION.fullmatch(written):
                return cls.id(written)
            if _GROUP_ARN.fullmatch(written):
                return cls.resource_group(written)
        raise wrong_value(
            Code.TEXT_FORM,
            "this is neither the id of a capacity reservation nor the ARN of a resource group",
            allowed=f"`{_RESERVATION_EXAMPLE}`, or `arn:aws:resource-groups:<region>:<account>:group/<name>`",
            remedy=f"write the whole id or ARN, e.g. `{_RESERVATION_EXAMPLE}`",
        )


_Reservation = Annotated[
    InstanceOf[CapacityReservation],
    InFile(Any, CapacityReservation.read),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({_RESERVATION.pattern}|{_GROUP_ARN.pattern})$",
            "examples": [_RESERVATION_EXAMPLE],
        }
    ),
]
_OF_INSTANCES: Mapping[str, str] = {
    "Name": "write the name as the key, in front of its colon",
    "name": "write the name as the key, in front of its colon",
    "InstanceType": "write `type`",
    "Instances": "write `types`, a list of names",
    "MinCount": "write `min`",
    "MaxCount": "write `max`",
    "count": "write `max`, and `min` for the nodes that always run",
    "Efa": "write `efa: true` or `efa: false`",
    "DisableSimultaneousMultithreading": "write `hyperthreading: false`",
    "SpotPrice": "write `spot_price`",
    "SchedulableMemory": "write `memory`, with its unit",
    "CapacityReservationTarget": "write `reservation`",
    "HealthChecks": "write `gpu_health_check`",
    "CustomSlurmSettings": "write `slurm`",
    "Networking": "write `placement`, and of a queue `az`, `subnets`, `security_groups`",
    "Tags": "write `tags: {key: value}`",
}
"""Remedies for ParallelCluster's own keys below a queue or a compute resource."""


class Instances(Spec):
    """Equal instances of a queue: the settings that compute resources, and queues with one kind of instances, share."""

    name: Annotated[str, Field(alias=OWN_KEY)]
    """1 to 25 lower-case letters, digits and hyphens, starting with a letter; not `default`. It is part of the node
    names.
    """
    instance_type: Annotated[Ec2Type | None, Field(alias="type")] = None
    """EC2 instance type, e.g. `trn1.32xlarge`. A Capacity Block defines its own."""
    instance_types: Annotated[Several[Ec2Type], Field(alias="types")] = ()
    """Several instance types instead of `type`; EC2 chooses among them. They must be alike in CPUs, GPUs and EFA."""
    max_count: Annotated[int, Field(alias="max")] = 10
    """Maximum number of instances. Default: 10."""
    min_count: Annotated[int, Field(alias="min")] = 0
    """Number of instances that always run. Default: 0; all are started for jobs and stopped when idle."""
    efa: bool | None = None
    """Whether EFA is enabled. Default: yes if the instance type supports it."""
    hyperthreading: bool = True
    """Whether each core is two CPUs for Slurm, where the processor has two threads. Default: yes.

    Jobs request the vCPUs of the instance type's specification, e.g. `--cpus-per-task 128` on trn1.32xlarge."""
    spot_price: float | None = None
    """Maximum price of a Spot instance, in USD per hour. Default: the on-demand price."""
    schedulable_memory_mib: Annotated[Mebibytes | None, Field(alias="memory")] = None
    """Memory of a node that jobs can request, e.g. `480 GiB`. Default: 95 % of the instance type's memory."""
    placement_group: Annotated[_Placement | None, Field(alias="placement")] = None
    """Whether the instances are in a placement group, or the name of one. Default: yes with EFA."""
    capacity_reservation: Annotated[_Reservation | None, Field(alias="reservation")] = None
    """Id of a capacity reservation, `cr-…`, or the ARN of a resource group of several. Default: none."""
    gpu_health_check: bool | None = None
    """Whether GPUs are tested before each job. Default: no; `Queue.gpu` enables it."""
    custom_slurm_settings: Annotated[Mapping[str, Any], Field(alias="slurm")] = {}
    """Additional settings of slurm.conf. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the instances, in addition to those of the cluster. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Settings of ParallelCluster that have no key here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` of a queue the cluster's policies are not attached; that role must
    contain their permissions."""

    @property
    def types(self) -> Sequence[str]:
        """Its instance types, from `type` or `types`."""
        return self.instance_types or (() if self.instance_type is None else (self.instance_type,))


class ComputeResource(Instances):
    """Equal instances of a queue (`ComputeResources[]`). Settings that it does not have are those of its queue."""

    other_words: ClassVar[Mapping[str, str]] = _OF_INSTANCES

    static_node_priority: Annotated[int | None, Field(alias="static_priority")] = None
    """Slurm weight of the nodes that always run; a lower weight is used first. Default: 1."""
    dynamic_node_priority: Annotated[int | None, Field(alias="dynamic_priority")] = None
    """Slurm weight of the nodes that are started for jobs. Default: 1000."""


OF_ITS_RESOURCE = (
    "instance_type",
    "instance_types",
    "max_count",
    "min_count",
    "efa",
    "hyperthreading",
    "spot_price",
    "schedulable_memory_mib",
)
"""Settings of a queue for its only compute resource."""


class Queue(Instances):
    """A queue, which is a Slurm partition (`SlurmQueues[]`).

    A queue with one kind of instances has the type and counts itself; one with several has `resources`. `trainium`,
    `gpu`, `capacity_block` and `cpu` create queues with settings for such instances.
    """

    written_as: ClassVar[Mapping[str, str]] = {"compute_resources": "resources"}
    other_words: ClassVar[Mapping[str, str]] = {
        **_OF_INSTANCES,
        "ComputeResources": "write `type`, `min` and `max`, or `resources` for several kinds of instances",
        "CapacityType": "write `capacity`",
        "AllocationStrategy": "write `allocation`",
        "JobExclusiveAllocation": "write `exclusive`",
        "ComputeSettings": "write `root_volume` and `scratch`",
        "CustomActions": "llm-fleet provides the scripts; add your own with `scripts: {own: …}` of the cluster",
        "Iam": "write `reads` and `writes` of the cluster",
        "Image": "write `image`",
        "capacity_block": "write `capacity: capacity-block`",
        "spot": "write `capacity: spot`",
    }

    resources: Named[ComputeResource] = ()
    """Several kinds of instances, by name, instead of `type`, `min`, `max` and the other settings of one kind.

    At most 50 in the whole cluster."""
    capacity_type: Annotated[
        CapacityType,
        InFile(Capacity, lambda capacity: capacity.type),
        Field(alias="capacity", json_schema_extra={"default": Capacity.ON_DEMAND.value}),
    ] = CapacityType.ONDEMAND
    """`on-demand`, `spot` or `capacity-block`, which requires a `reservation`. Default: `on-demand`."""
    allocation_strategy: Annotated[AllocationStrategy | None, Field(alias="allocation")] = None
    """How EC2 chooses among several `types`. Default: the lowest price."""
    exclusive: bool | None = None
    """Whether a job has whole nodes. Default: yes with accelerators, which Slurm cannot divide among jobs here."""
    root_volume: RootVolume | None = None
    """Root volume of its nodes. Default: ParallelCluster's own, encrypted."""
    scratch_mount_dir: Annotated[str | None, Field(alias="scratch")] = None
    """Mount path of the local disks, which are erased when a node is stopped. Default: `/scratch`; `Queue.trainium` and
    the other presets of Python use /local_scratch."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """Custom AMI of the queue, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: the cluster's AZ."""
    subnets: Several[Subnet] = ()
    """Subnets of the queue, by id in a fleet file; only one with EFA. Default: the compute subnet of its AZ."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Additional security groups of its nodes, by id in a fleet file. Default: none; ParallelCluster's own security
    group has all rules that EFA needs."""
    assign_public_ip: Annotated[bool | None, Field(alias="public_ip")] = None
    """Whether its nodes have public IP addresses. Default: the subnet's setting, which is off in the fleet's
    subnets."""

    @property
    def compute_resources(self) -> Sequence[ComputeResource]:
        """Its compute resources; one with the queue's own name if the queue itself has the type."""
        if self.resources:
            return self.resources
        given = {attribute: getattr(self, attribute) for attribute in OF_ITS_RESOURCE}
        return (ComputeResource.model_construct(name=self.name, **given),)

    @property
    def subnet_ids(self) -> Sequence[str]:
        """The ids of `subnets`."""
        given: Any = self.subnets
        return given if is_unresolved(given) else tuple(map(SUBNET.name_of, given))

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """The ids of `security_groups`."""
        return tuple(map(SECURITY_GROUP.name_of, self.security_groups))

    @classmethod
    def trainium(
        cls,
        name: str,
        *,
        instance_type: str = "trn1.32xlarge",
        max_count: int,
        min_count: int = 0,
        spot: bool = False,
        **options: Any,
    ) -> "Queue":
        """Return a queue of Trainium instances for training; `options` are more fields of the queue and its nodes.

        A job has whole nodes, because Slurm cannot count Neuron devices here. EFA is enabled where the type supports
        it, in one placement group. The local disks are mounted at /local_scratch. Hyper-threading stays enabled: a job
        with `--cpus-per-task 128` on trn1.32xlarge needs it to get 128 CPUs; without it there are 64. Use Spot capacity
        only for jobs that can be stopped at any time; for reserved capacity, set `capacity_reservation`.

        Raises `FleetError` when `instance_type` is no Trainium type.
        """
        _check_preset("trainium", instance_type, name)
        options = {"exclusive": True, **options}
        return _preset(name, [instance_type], (min_count, max_count), options, capacity_type=_bought(spot))

    @classmethod
    def gpu(
        cls,
        name: str,
        *,
        instance_type: str,
        max_count: int,
        min_count: int = 0,
        spot: bool = False,
        **options: Any,
    ) -> "Queue":
        """Return a queue of GPU instances for training; `options` are more fields of the queue and its nodes.

        Same settings as `trainium`. In addition, NVIDIA GPUs run their diagnostics before each job, so that a broken
        GPU costs minutes and not days.

        Raises `FleetError` when `instance_type` has no GPUs.
        """
        _check_preset("gpu", instance_type, name)
        options = {"exclusive": True, **options}
        return _preset(name, [instance_type], (min_count, max_count), options, capacity_type=_bought(spot))

    @classmethod
    def capacity_block(
        cls, name: str, *, instance_type: str, count: int, reservation_id: str, **options: Any
    ) -> "Queue":
        """Return a queue of the instances of a Capacity Block; `options` are more fields of the queue and its nodes.

        All `count` instances are static, as ParallelCluster requires; until the block begins their nodes are down. AWS
        places the instances, so there is no placement group. Other settings are as in `trainium` and `gpu`. Its subnet
        must be in the AZ of the block.
        """
        return _preset(
            name,
            [instance_type],
            (count, count),
            {"exclusive": True, **options},
            capacity_type=CapacityType.CAPACITY_BLOCK,
            capacity_reservation=CapacityReservation.id(reservation_id),
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
        **options: Any,
    ) -> "Queue":
        """Return a queue of instances without accelerators, e.g. to prepare data; `options` are more fields.

        Several jobs share a node. With several instance types, which must be alike in CPUs, EC2 chooses among them.
        """
        types = [instance_type] if isinstance(instance_type, str) else list(instance_type)
        return _preset(name, types, (min_count, max_count), options, capacity_type=_bought(spot))


_SCRATCH = "/local_scratch"
_NVIDIA = "nvidia"
_OF_NODES = frozenset({*OF_ITS_RESOURCE, "static_node_priority", "dynamic_node_priority"})


def _preset(
    name: str, instance_types: Sequence[str], counts: tuple[int, int], options: Mapping[str, Any], **fields: Any
) -> Queue:
    """Return a queue with one compute resource of the same name; `options` override the preset's values."""
    least, most = counts
    nodes = {key: value for key, value in options.items() if key in _OF_NODES}
    resource = ComputeResource(name=name, instance_types=instance_types, min_count=least, max_count=most, **nodes)
    facts = [ec2_facts_of(each) for each in instance_types]
    filled: dict[str, Any] = {}
    if any(known is not None and known.instance_store_gb for known in facts):
        filled["scratch_mount_dir"] = _SCRATCH
    if facts and all(map(_has_nvidia, facts)):
        filled["gpu_health_check"] = True
    given = {key: value for key, value in options.items() if key not in _OF_NODES}
    return Queue(name=name, resources=[resource], **fields, **{**filled, **given})


def _bought(spot: bool) -> CapacityType:
    return CapacityType.SPOT if spot else CapacityType.ONDEMAND


def _has_nvidia(known: Ec2Instance | None) -> bool:
    return known is not None and known.gpu_maker == _NVIDIA


_TRAINIUM = "trn"
"""Prefix of all Trainium instance families of EC2, including those that the catalog does not have yet."""
_FOR = {"trainium": "Trainium, e.g. trn1.32xlarge", "gpu": "GPUs, e.g. p5.48xlarge"}


def _check_preset(preset: Literal["trainium", "gpu"], instance_type: str, name: str) -> None:
    """Raise an error for instance types that `preset` is not for. Unknown types pass if their name can be right."""
    if is_unresolved(instance_type) or _fits(preset, instance_type):
        return
    problem = Problem(
        code=Code.PC_PRESET_TYPE,
        message=f"Queue.{preset} does not support this instance type",
        remedy=_remedy(instance_type),
        path=("instance_type",),
        value=instance_type,
        allowed=f"instance types with {_FOR[preset]}",
    )
    raise_problems([problem], subject=f"Queue.{preset} {name}")


def _fits(preset: str, instance_type: str) -> bool:
    trainium = instance_type.startswith(_TRAINIUM)
    if preset == "trainium":
        return trainium
    facts = ec2_facts_of(instance_type)
    return not trainium and (facts is None or facts.accelerator == "gpu")


def _remedy(instance_type: str) -> str:
    if instance_type.startswith(_TRAINIUM):
        return "use Queue.trainium"
    facts = ec2_facts_of(instance_type)
    if facts is None:
        return "write the name of EC2, without the prefix `ml.`"
    if facts.accelerator == "gpu":
        return "use Queue.gpu"
    return "use Queue.cpu" if facts.accelerator is None else "create a Queue with a ComputeResource of this type"
