"""HyperPod: limits of CreateCluster, facts outside its API model, AMIs and their updates, instance types."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Literal

from llm_fleet.catalog.data_file import KEY, CronField, Limit, reader

_cluster_limits = reader(Mapping[str, Limit], "hyperpod_limits")


def cluster_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `ClusterName` or `VpcConfig.Subnets`.

    `[]` means a list item: `InstanceGroups` limits the number of groups, `InstanceGroups[].InstanceCount` one count.
    Raises `KeyError` for a field without limits and for an unknown field.
    """
    return replace(_cluster_limits()[field], source="HyperPod's CreateCluster API")


def group_limit(field: str) -> Limit:
    """Return the limits of `field` of an instance group, e.g. `InstanceCount`."""
    return cluster_limit(f"InstanceGroups[].{field}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperPodFacts:
    """HyperPod facts that are not in its API model."""

    inferentia_families: frozenset[str]
    """Inferentia families; inference runs on ECS instead."""
    reserved_partitions: Mapping[str, str]
    """Reserved partition names in lower case, with the reason."""
    default_mount_paths: Mapping[str, str]
    """HyperPod's default mount paths by kind of file system."""
    taken_mount_paths: Mapping[str, str]
    """Paths that a mount would hide, with their content."""
    accounting_port: int
    """Default port of MySQL."""
    cron: Mapping[str, CronField]
    """The six fields of a cron expression, in order."""


hyperpod_facts = reader(HyperPodFacts, "hyperpod")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeature:
    """A feature that older AMIs do not have."""

    what: str
    """Description for messages."""
    since: date
    """Date of the first AMI with it."""


_image_features = reader(Mapping[str, ImageFeature], "image_features")


def image_feature(key: str) -> ImageFeature:
    """Return the feature with the catalog's key: `slurm-config` or `accounting-database`."""
    return _image_features()[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One kind of data that an update deletes or keeps."""

    what: str
    where: str
    """Its location and a description."""
    on: str = ""
    """The nodes it applies to."""
    assumption: str | None = None
    """Id in the register of assumptions; `None` where documents of AWS or SchedMD prove it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareUpdate:
    """Facts about UpdateClusterSoftware."""

    lost: tuple[Effect, ...]
    controller_lost: tuple[Effect, ...]
    """Additional losses when the controller's group is updated."""
    kept: tuple[Effect, ...]
    order: tuple[str, ...]
    """Slurm roles in the required order of updates."""
    tries: str
    """HyperPod's behavior when lifecycle scripts fail during an update."""
    new_scripts: Mapping[str, tuple[Effect, ...]]
    """Which nodes get new scripts and settings when: of HyperPod, of ParallelCluster by `QueueUpdateStrategy`, and of
    services; `{groups}` and `{batch}` in the texts are replaced."""
    parallelcluster_lost: tuple[Effect, ...]
    service_lost: tuple[Effect, ...]


software_update = reader(SoftwareUpdate, "software_update")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance type, under its `ml.` name. `None`: no source has the fact."""

    name: Annotated[str, KEY]
    architecture: Literal["x86_64", "arm64"]
    vcpus: int | None
    memory_gib: float | None
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    efa_interfaces: int | None
    network_cards: int | None
    """A node of a Slurm cluster uses one IP address of its subnet for each network card."""
    threads_per_core: int | None = None
    """2 with hyper-threading, otherwise 1."""

    @property
    def family(self) -> str:
        """The part between `ml.` and the size, e.g. `trn1`."""
        return self.name.removeprefix("ml.").split(".")[0]


instances = reader(Mapping[str, Instance], "instances")
"""All instance types of HyperPod's API by their `ml.` names."""


class InstanceType(str):
    """A HyperPod instance type: a string with the facts of the type.

    There are constants for common types; other names in the catalog can be given as strings. `of` is for a type that
    AWS released later, and is the only way to skip the check against the catalog.
    """

    __slots__ = ("facts",)

    facts: Instance | None
    """`None` for a name that is not in the catalog."""

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
        """Create the type `name`, with the facts of the catalog if it has any."""
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
        """Return a type that is newer than this release of llm-fleet. The arguments replace the catalog's facts.

        `network_cards` is required because each card uses an IP address of the subnet; a type without EFA has 1.
        Raises `ValueError` when `name` does not begin with `ml.` or a number is out of range.
        """
        if not name.startswith("ml."):
            raise ValueError(f"a HyperPod instance type begins with 'ml.', got {name!r}")
        if network_cards < 1 or min(accelerators, efa_interfaces) < 0:
            raise ValueError(f"{name}: network_cards must be 1 or more, accelerators and efa_interfaces 0 or more")
        if bool(accelerator) != bool(accelerators):
            raise ValueError(f"{name}: set both accelerator and accelerators, or neither")
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
    """Return the facts given to `InstanceType.of` for `instance_type`, or the catalog's, or `None`."""
    if isinstance(instance_type, InstanceType):
        return instance_type.facts
    return instances().get(instance_type)


def _set_constants() -> None:
    """Set each constant that the class declares: `TRN1_32XLARGE` is `ml.trn1.32xlarge`."""
    for constant in InstanceType.__annotations__:
        if constant.isupper():
            family, size = constant.lower().rsplit("_", 1)
            setattr(InstanceType, constant, InstanceType(f"ml.{family.replace('_', '-')}.{size}"))


_set_constants()
