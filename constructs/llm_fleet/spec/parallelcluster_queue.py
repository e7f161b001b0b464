"""Queues of a ParallelCluster, and the instances behind them."""

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
    """Where a queue's instances come from, as the fleet file spells it."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"

    @property
    def type(self) -> CapacityType:
        """ParallelCluster's word for it."""
        return CapacityType[self.name.replace("ON_DEMAND", "ONDEMAND")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    """Whether a queue's instances are placed close together (`Networking/PlacementGroup`).

    Make one with `managed`, `named` or `none`. ParallelCluster refuses EFA without one of them.
    """

    enabled: bool
    """`Enabled`."""
    name: str | None = None
    """`Name` of a group that exists."""

    @classmethod
    def managed(cls) -> "PlacementGroup":
        """Return a group of ParallelCluster's own: one for each compute resource, deleted with it."""
        return cls(enabled=True)

    @classmethod
    def named(cls, name: str) -> "PlacementGroup":
        """Return the group called `name`, which exists already."""
        return cls(enabled=True, name=name)

    @classmethod
    def none(cls) -> "PlacementGroup":
        """Return that there is none on purpose: a reservation has its own, or several AZs are wanted."""
        return cls(enabled=False)

    @classmethod
    def read(cls, written: Any) -> "PlacementGroup":
        """Read `true`, `false`, or the name of an existing placement group, of a fleet file."""
        if isinstance(written, bool):
            return cls(enabled=written)
        if isinstance(written, str):
            return cls.named(written)
        raise wrong_value(
            Code.WRONG_TYPE,
            "true, false or the name of a placement group should stand here",
            allowed="true, false, or the name of a placement group that exists",
            remedy="write `true` to have a placement group made",
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
    """Reserved capacity (`CapacityReservationTarget`). Make one with `id` or `resource_group`."""

    reservation_id: str | None = None
    """`CapacityReservationId`, of an ODCR or a Capacity Block."""
    resource_group_arn: str | None = None
    """`CapacityReservationResourceGroupArn`."""

    @classmethod
    def id(cls, reservation_id: str) -> "CapacityReservation":
        """Return an On-Demand Capacity Reservation or a Capacity Block, e.g. `cr-0123456789abcdef0`.

        It must be of the queue's instance type, and in the AZ of the queue's subnet.
        """
        return cls(reservation_id=reservation_id)

    @classmethod
    def resource_group(cls, arn: str) -> "CapacityReservation":
        """Return a service-linked resource group of capacity reservations by its ARN."""
        return cls(resource_group_arn=arn)

    @classmethod
    def read(cls, written: Any) -> "CapacityReservation":
        """Read the id of a capacity reservation, or the ARN of a resource group of several, of a fleet file."""
        if isinstance(written, str):
            if _RESERVATION.fullmatch(written):
                return cls.id(written)
            if _GROUP_ARN.fullmatch(written):
                return cls.resource_group(written)
        raise wrong_value(
            Code.TEXT_FORM,
            "this is neither the id of a capacity reservation nor the ARN of a resource group",
            allowed=f"`{_RESERVATION_EXAMPLE}`, or `arn:aws:resource-groups:<region>:<account>:group/<name>`",
            remedy=f"write it whole, e.g. `{_RESERVATION_EXAMPLE}`",
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
    "count": "write `max`, and `min` for what always runs",
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
"""What to write for ParallelCluster's own keys below a queue or a compute resource."""


class Instances(Spec):
    """Like instances of a queue: what a queue of one kind of instances and a compute resource have in common."""

    name: Annotated[str, Field(alias=OWN_KEY)]
    """1 to 25 lower-case letters, digits and hyphens, a letter first; not `default`. It is part of every node's name.
    """
    instance_type: Annotated[Ec2Type | None, Field(alias="type")] = None
    """The instance type, as EC2 has it, e.g. `trn1.32xlarge`. A Capacity Block has its own."""
    instance_types: Annotated[Several[Ec2Type], Field(alias="types")] = ()
    """Several types in place of `type`, of which EC2 gives what it has. They must have like CPUs, GPUs and EFA."""
    max_count: Annotated[int, Field(alias="max")] = 10
    """How many instances there may be. Default: 10."""
    min_count: Annotated[int, Field(alias="min")] = 0
    """How many always run. Default: 0; all come with the jobs and go when they idle."""
    efa: bool | None = None
    """Whether they have EFA. Default: yes where the type has it."""
    hyperthreading: bool = True
    """Whether Slurm sees two CPUs for each core, where the processor has them. Default: yes.

    Jobs ask for the CPUs that the instance type promises, e.g. `--cpus-per-task 128` on trn1.32xlarge."""
    spot_price: float | None = None
    """The most to be paid for a spot instance, in USD an hour. Default: the on-demand price."""
    schedulable_memory_mib: Annotated[Mebibytes | None, Field(alias="memory")] = None
    """Memory that jobs may have of a node, e.g. `480 GiB`. Default: 95 % of what the type has."""
    placement_group: Annotated[_Placement | None, Field(alias="placement")] = None
    """Whether they are placed close together, or the name of a placement group. Default: yes with EFA."""
    capacity_reservation: Annotated[_Reservation | None, Field(alias="reservation")] = None
    """A capacity reservation, `cr-…`, or the ARN of a resource group of several. Default: none."""
    gpu_health_check: bool | None = None
    """Whether GPUs are tested before each job. Default: no; `Queue.gpu` does."""
    custom_slurm_settings: Annotated[Mapping[str, Any], Field(alias="slurm")] = {}
    """Further settings, in the words of slurm.conf. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the instances, next to those of the cluster. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` of a queue the cluster's policies are not attached: that role must
    hold them."""

    @property
    def types(self) -> Sequence[str]:
        """Its instance types, however they are given."""
        return self.instance_types or (() if self.instance_type is None else (self.instance_type,))


class ComputeResource(Instances):
    """Like instances of a queue (`ComputeResources[]`). A queue's say holds where it says nothing itself."""

    other_words: ClassVar[Mapping[str, str]] = _OF_INSTANCES

    static_node_priority: Annotated[int | None, Field(alias="static_priority")] = None
    """Slurm's weight of the nodes that always run; the lower, the sooner. Default: 1."""
    dynamic_node_priority: Annotated[int | None, Field(alias="dynamic_priority")] = None
    """Slurm's weight of the nodes that come and go. Default: 1000."""


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
"""What a queue says of its only compute resource."""


class Queue(Instances):
    """A queue, Slurm's partition (`SlurmQueues[]`).

    With one kind of instances it says type and counts itself; with several it has `resources`. `trainium`, `gpu`,
    `capacity_block` and `cpu` make queues that suit such instances.
    """

    written_as: ClassVar[Mapping[str, str]] = {"compute_resources": "resources"}
    other_words: ClassVar[Mapping[str, str]] = {
        **_OF_INSTANCES,
        "ComputeResources": "write `type`, `min` and `max`, or `resources` for several kinds of instances",
        "CapacityType": "write `capacity`",
        "AllocationStrategy": "write `allocation`",
        "JobExclusiveAllocation": "write `exclusive`",
        "ComputeSettings": "write `root_volume` and `scratch`",
        "CustomActions": "llm-fleet brings the scripts; write your own as `scripts: {own: …}` of the cluster",
        "Iam": "write `reads` and `writes` of the cluster",
        "Image": "write `image`",
        "capacity_block": "write `capacity: capacity-block`",
        "spot": "write `capacity: spot`",
    }

    resources: Named[ComputeResource] = ()
    """Several kinds of instances, by name, in place of `type`, `min`, `max` and what else is of one kind.

    50 at most in the whole cluster."""
    capacity_type: Annotated[
        CapacityType,
        InFile(Capacity, lambda capacity: capacity.type),
        Field(alias="capacity", json_schema_extra={"default": Capacity.ON_DEMAND.value}),
    ] = CapacityType.ONDEMAND
    """`on-demand`, `spot` or `capacity-block`, which needs a `reservation`. Default: `on-demand`."""
    allocation_strategy: Annotated[AllocationStrategy | None, Field(alias="allocation")] = None
    """Which of several `types` EC2 gives. Default: the cheapest that it has."""
    exclusive: bool | None = None
    """Whether a job has whole nodes. Default: yes with accelerators, which Slurm cannot share out here."""
    root_volume: RootVolume | None = None
    """The root volume of its nodes. Default: ParallelCluster's, encrypted."""
    scratch_mount_dir: Annotated[str | None, Field(alias="scratch")] = None
    """Where its nodes mount their local disks, which are emptied when a node goes. Default: `/scratch`; the presets of
    Python take /local_scratch."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """An image of its own, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: the cluster's."""
    subnets: Several[Subnet] = ()
    """Subnets of its own, by id in a fleet file; one for EFA. Default: the compute subnet of its AZ."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Further security groups of its nodes, by id in a fleet file. Default: none; ParallelCluster's own has all that
    EFA needs."""
    assign_public_ip: Annotated[bool | None, Field(alias="public_ip")] = None
    """Whether its nodes have public addresses. Default: as the subnet says, and the fleet's subnets say no."""

    @property
    def compute_resources(self) -> Sequence[ComputeResource]:
        """Its compute resources; one of the queue's own name where it says `type` itself."""
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
        """Return a queue of Trainium instances for training; `options` are further fields of it and of its nodes.

        A job has its nodes to itself, for Slurm cannot count Neuron devices here. EFA is on where the type has it, in
        one placement group. The local disks are at /local_scratch. Hyper-threading stays on: a job that asks
        `--cpus-per-task 128` on trn1.32xlarge finds 128 CPUs only with it, and 64 without. Spot capacity is for jobs
        that can be stopped at any time; reserved capacity is `capacity_reservation`.

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
        """Return a queue of GPU instances for training; `options` are further fields of it and of its nodes.

        As `trainium`; and on NVIDIA's GPUs their diagnostics run before each job, so that a broken GPU costs minutes
        and not days.

        Raises `FleetError` when `instance_type` has no GPUs.
        """
        _check_preset("gpu", instance_type, name)
        options = {"exclusive": True, **options}
        return _preset(name, [instance_type], (min_count, max_count), options, capacity_type=_bought(spot))

    @classmethod
    def capacity_block(
        cls, name: str, *, instance_type: str, count: int, reservation_id: str, **options: Any
    ) -> "Queue":
        """Return a queue of the instances of a Capacity Block; `options` are further fields of it and of its nodes.

        All `count` instances are static, as ParallelCluster asks of it; until the block begins their nodes are down.
        AWS places them itself, so there is no placement group. The rest is as `trainium` and `gpu`. Its subnet must be
        in the AZ of the block.
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
        """Return a queue of instances without accelerators, e.g. to prepare data; `options` are fields as above.

        Several jobs share a node. With several instance types, of like CPUs, EC2 gives what it has.
        """
        types = [instance_type] if isinstance(instance_type, str) else list(instance_type)
        return _preset(name, types, (min_count, max_count), options, capacity_type=_bought(spot))


_SCRATCH = "/local_scratch"
_NVIDIA = "nvidia"
_OF_NODES = frozenset({*OF_ITS_RESOURCE, "static_node_priority", "dynamic_node_priority"})


def _preset(
    name: str, instance_types: Sequence[str], counts: tuple[int, int], options: Mapping[str, Any], **fields: Any
) -> Queue:
    """Return a queue with one compute resource of its name; `options` win over what its instances ask for."""
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
"""How EC2 names every family of Trainium, those that the catalog does not have yet among them."""
_FOR = {"trainium": "Trainium, e.g. trn1.32xlarge", "gpu": "GPUs, e.g. p5.48xlarge"}


def _check_preset(preset: Literal["trainium", "gpu"], instance_type: str, name: str) -> None:
    """Refuse other instances than `preset` is for; one that is not known passes where its name may be right."""
    if is_unresolved(instance_type) or _fits(preset, instance_type):
        return
    problem = Problem(
        code=Code.PC_PRESET_TYPE,
        message=f"Queue.{preset} is for other instances than these",
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
        return "write the name as EC2 does, without ml."
    if facts.accelerator == "gpu":
        return "use Queue.gpu"
    return "use Queue.cpu" if facts.accelerator is None else "make a Queue with a ComputeResource of this type"
