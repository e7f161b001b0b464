"""Facts about EC2's instance types, which ParallelCluster and ECS name without `ml.`."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Instance:
    """One instance type of EC2."""

    name: str
    architecture: Literal["x86_64", "arm64"]
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
    return None if facts is None else Ec2Instance(name=name, **facts)


def ec2_instance_names() -> list[str]:
    """Return the names of all types in the catalog."""
    return list(load("ec2_instances"))
