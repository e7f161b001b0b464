"""HyperPod: limits of CreateCluster, what its API model does not have, AMIs and their updates, instance types."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from llm_fleet.catalog.data_file import KEY, CronField, Limit, reader

_cluster_limits = reader(Mapping[str, Limit], "hyperpod_limits")


def cluster_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `ClusterName` or `VpcConfig.Subnets`.

    `[]` stands for a member of a list: `InstanceGroups` bounds their number, `InstanceGroups[].InstanceCount` a count.
    A field that has no limit, or is misspelt, is a `KeyError`.
    """
    return _cluster_limits()[field]


def group_limit(field: str) -> Limit:
    """Return the limits of `field` of an instance group, e.g. `InstanceCount`."""
    return cluster_limit(f"InstanceGroups[].{field}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperPodFacts:
    """What is known of HyperPod beyond its API model."""

    inferentia_families: frozenset[str]
    """Families that belong to inference elsewhere."""
    reserved_partitions: Mapping[str, str]
    """Partition names that are taken, in lower case, with the reason."""
    default_mount_paths: Mapping[str, str]
    """Where the service mounts, by kind of file system."""
    taken_mount_paths: Mapping[str, str]
    """Paths that a mount would hide, with what stands there."""
    accounting_port: int
    """Where MySQL listens unless told otherwise."""
    cron: Mapping[str, CronField]
    """The six fields of a cron expression, in order."""


hyperpod_facts = reader(HyperPodFacts, "hyperpod")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeature:
    """A feature that older images do not have."""

    what: str
    """In words."""
    since: date
    """The first day on which an image had it."""


_image_features = reader(Mapping[str, ImageFeature], "image_features")


def image_feature(key: str) -> ImageFeature:
    """Return a feature by our word for it: `slurm-config` or `accounting-database`."""
    return _image_features()[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that an update loses or keeps."""

    what: str
    where: str
    """Where it is, and what of it."""
    on: str = ""
    """On which nodes."""
    assumption: str | None = None
    """Id of the entry in the register of assumptions; `None` where a document of AWS or SchedMD proves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareUpdate:
    """The facts."""

    lost: tuple[Effect, ...]
    controller_lost: tuple[Effect, ...]
    """Besides, where the controller is among the groups."""
    kept: tuple[Effect, ...]
    order: tuple[str, ...]
    """Roles in Slurm, those first that must be updated first."""
    tries: str
    """What HyperPod does when scripts fail in an update."""
    parallelcluster_lost: tuple[Effect, ...]
    service_lost: tuple[Effect, ...]


software_update = reader(SoftwareUpdate, "software_update")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance type, under its `ml.` name. `None` stands for what no source tells."""

    name: Annotated[str, KEY]
    architecture: Literal["x86_64", "arm64"]
    vcpus: int | None
    memory_gib: float | None
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    efa_interfaces: int | None
    network_cards: int | None
    """How many addresses of its subnet a node of a Slurm cluster takes: one a card."""
    threads_per_core: int | None = None
    """2 where the processor has hyper-threading, else 1."""

    @property
    def family(self) -> str:
        """The family without prefix and size, e.g. `trn1`."""
        return self.name.removeprefix("ml.").split(".")[0]


instances = reader(Mapping[str, Instance], "instances")
"""Every instance type that HyperPod's API accepts, by its `ml.` name."""


class InstanceType(str):
    """An instance type of HyperPod: a plain string that also knows its facts.

    Constants stand for common types; any other name of the catalog may be given as a string. `of` is for a type that
    AWS has brought out since, and is the only way past the check against the catalog.
    """

    __slots__ = ("facts",)

    facts: Instance | None
    """What is known of it; `None` for a name that is not in the catalog."""

    M5_XLARGE: "InstanceType"
    M5_4XLARGE: "InstanceType"
    C5_4XLARGE: "InstanceType"
    TRN1_32XLARGE: "InstanceType"
    TRN1N_32XLARGE: "InstanceType"
    TRN2_3XLARGE: "InstanceType"
    TRN2_48XLARGE: "InstanceType"
    G5_48XLARGE: "InstanceType"
    G6E_48XLARGE: "InstanceType"
    P4D_24XLARGE: "InstanceType"
    P5_48XLARGE: "InstanceType"
    P5EN_48XLARGE: "InstanceType"
    P6_B200_48XLARGE: "InstanceType"

    def __new__(cls, name: str) -> "InstanceType":
        """Make the type called `name`, with the catalog's facts where it has any."""
        self = super().__new__(cls, name)
        self.facts = instances().get(name)
        return self

    @classmethod
    def of(
        cls,
        name: str,
        *,
        network_cards: int,
        architecture: Literal["x86_64", "arm64"] = "x86_64",
        vcpus: int | None = None,
        memory_gib: float | None = None,
        accelerator: Literal["gpu", "neuron"] | None = None,
        accelerators: int = 0,
        efa_interfaces: int = 0,
        threads_per_core: int | None = None,
    ) -> "InstanceType":
        """Return a type that is newer than this release of llm-fleet. What is said of it replaces the catalog's facts.

        `network_cards` is needed because each card takes an address of the subnet; a type without EFA has 1.
        Raises `ValueError` when `name` does not begin with `ml.` or a number is not possible.
        """
        if not name.startswith("ml."):
            raise ValueError(f"a HyperPod instance type begins with 'ml.', got {name!r}")
        if network_cards < 1 or min(accelerators, efa_interfaces) < 0:
            raise ValueError(f"{name}: network_cards must be 1 or more, accelerators and efa_interfaces 0 or more")
        if bool(accelerator) != bool(accelerators):
            raise ValueError(f"{name}: give accelerator and accelerators together, or neither")
        self = cls(name)
        self.facts = Instance(
            name=name,
            architecture=architecture,
            vcpus=vcpus,
            memory_gib=memory_gib,
            accelerator=accelerator,
            accelerators=accelerators,
            efa_interfaces=efa_interfaces,
            network_cards=network_cards,
            threads_per_core=threads_per_core,
        )
        return self


def facts_of(instance_type: str) -> Instance | None:
    """Return what `InstanceType.of` was told of `instance_type`, else the catalog's facts, else `None`."""
    if isinstance(instance_type, InstanceType):
        return instance_type.facts
    return instances().get(instance_type)


def _set_constants() -> None:
    """Give each constant that the class announces its value: `TRN1_32XLARGE` is `ml.trn1.32xlarge`."""
    for constant in InstanceType.__annotations__:
        if constant.isupper():
            family, size = constant.lower().rsplit("_", 1)
            setattr(InstanceType, constant, InstanceType(f"ml.{family.replace('_', '-')}.{size}"))


_set_constants()
