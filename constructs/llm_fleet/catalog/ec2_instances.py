"""The instance types of EC2, their accelerators' memory and network, and how Python names one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from llm_fleet.catalog.data_file import KEY, load, reader, typed

Architecture = Literal["x86_64", "arm64", "x86_64_mac", "arm64_mac"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Instance:
    """One instance type of EC2."""

    name: Annotated[str, KEY]
    architecture: Architecture
    vcpus: int
    cores: int | None = None
    """Physical cores; what Slurm sees with hyper-threading off. `None` where EC2 does not tell."""
    memory_gib: float
    accelerator: Literal["gpu", "neuron"] | None = None
    accelerators: int = 0
    """GPUs or Neuron devices."""
    gpu_maker: str | None = None
    """`nvidia`, `amd` …; `None` without GPUs."""
    efa_interfaces: int = 0
    """How many EFA interfaces it can have at most; 0 without EFA."""
    network_cards: int
    threads_per_core: int
    """2 where the processor has hyper-threading, else 1."""
    instance_store_gb: int = 0
    """All local disks together."""
    capacity_block: bool = False
    """Whether it can be bought as a Capacity Block."""
    spot: bool = False

    @property
    def family(self) -> str:
        """The family without the size, e.g. `trn1`."""
        return self.name.split(".")[0]


@cache
def ec2_instance(name: str) -> Ec2Instance | None:
    """Return the facts of the type `name`, e.g. `trn1.32xlarge`; `None` for one that the catalog does not have."""
    facts = load("ec2_instances").get(name)
    return None if facts is None else typed(Ec2Instance, facts, f"ec2_instances.json/{name}", name=name)


def ec2_instance_names() -> list[str]:
    """Return the names of all types in the catalog."""
    return list(load("ec2_instances"))


class Ec2InstanceType(str):
    """An instance type of EC2: a plain string that also knows its facts.

    Any name of the catalog may be given as a plain string. `of` is for a type that AWS has brought out since, and is
    the only way past the check against the catalog.
    """

    __slots__ = ("facts",)

    facts: Ec2Instance | None
    """What is known of it; `None` for a name that is not in the catalog."""

    def __new__(cls, name: str) -> "Ec2InstanceType":
        """Make the type called `name`, with the catalog's facts where it has any."""
        self = super().__new__(cls, name)
        self.facts = ec2_instance(name)
        return self

    @classmethod
    def of(
        cls,
        name: str,
        *,
        architecture: Literal["x86_64", "arm64"],
        vcpus: int,
        memory_gib: float,
        cores: int | None = None,
        threads_per_core: int = 2,
        network_cards: int = 1,
        accelerator: Literal["gpu", "neuron"] | None = None,
        accelerators: int = 0,
        gpu_maker: str | None = None,
        efa_interfaces: int = 0,
        instance_store_gb: int = 0,
        capacity_block: bool = False,
        spot: bool = True,
    ) -> "Ec2InstanceType":
        """Return a type that is newer than this release of llm-fleet. What is said of it replaces the catalog's facts.

        Defaults: no accelerator, EFA or local disk, one network card, two threads a core, sold as spot, not in Capacity
        Blocks. Raises `ValueError` when `name` begins with SageMaker's `ml.` or a number is not possible.
        """
        if name.startswith("ml."):
            raise ValueError(f"an instance type of EC2 has no 'ml.' before it, got {name!r}")
        if min(vcpus, network_cards) < 1 or min(accelerators, efa_interfaces, instance_store_gb) < 0:
            raise ValueError(f"{name}: vcpus and network_cards must be 1 or more, the other numbers 0 or more")
        if bool(accelerator) != bool(accelerators):
            raise ValueError(f"{name}: give accelerator and accelerators together, or neither")
        self = cls(name)
        self.facts = Ec2Instance(
            name=name,
            architecture=architecture,
            vcpus=vcpus,
            cores=cores if cores is not None else vcpus // threads_per_core,
            memory_gib=memory_gib,
            accelerator=accelerator,
            accelerators=accelerators,
            gpu_maker=gpu_maker,
            efa_interfaces=efa_interfaces,
            network_cards=network_cards,
            threads_per_core=threads_per_core,
            instance_store_gb=instance_store_gb,
            capacity_block=capacity_block,
            spot=spot,
        )
        return self


def ec2_facts_of(instance_type: str) -> Ec2Instance | None:
    """Return what `Ec2InstanceType.of` was told of `instance_type`, else the catalog's facts, else `None`."""
    if isinstance(instance_type, Ec2InstanceType):
        return instance_type.facts
    return ec2_instance(instance_type)


_gpu_mib = reader(Mapping[str, int], "accelerator_memory", "gpu_mib")


def gpu_memory_mib(family: str) -> int | None:
    """Return the MiB of one GPU of an instance family, e.g. `p5`; `None` where EC2's answer does not tell."""
    return _gpu_mib().get(family)


_efa_gbps = reader(Mapping[str, float], "efa_bandwidth", "efa_gbps")


def efa_gbps(ec2_type: str) -> float | None:
    """Return Gbit/s of all network cards of `ec2_type` together, at most; `None` without EFA or where nobody tells."""
    return _efa_gbps().get(ec2_type)
