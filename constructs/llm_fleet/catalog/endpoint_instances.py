"""Facts about the instance types that SageMaker offers for endpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from llm_fleet.catalog.accelerator_memory import gpu_memory_mib
from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.neuron_devices import neuron_instance

_PREFIX = "ml."
_MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointInstance:
    """One instance type, under its `ml.` name. `None` stands for what no source tells."""

    name: str
    architecture: Literal["x86_64", "arm64"] | None
    accelerator: Literal["gpu", "neuron"] | None
    """What computes; `None` for processors alone, and where no source tells."""
    accelerators: int
    """GPUs or Neuron devices."""
    accelerator_mib: int | None
    """Memory of one of them."""
    memory_gib: float | None
    """Memory of the host."""
    local_disk_gb: int
    """All local disks together; 0 for a type whose storage is an EBS volume."""
    known: bool
    """Whether EC2 tells of this type at all."""

    @property
    def family(self) -> str:
        """The family without prefix and size, e.g. `g4dn`."""
        return family_of(self.name)

    @property
    def ec2_name(self) -> str:
        """The name without `ml.`, as EC2 has it."""
        return self.name.removeprefix(_PREFIX)


def family_of(instance_type: str) -> str:
    """Return the family of an instance type, with or without `ml.` before it."""
    return instance_type.removeprefix(_PREFIX).partition(".")[0]


@cache
def endpoint_instance_names() -> tuple[str, ...]:
    """Return the names of all types that SageMaker's API takes for an endpoint and that are not retired."""
    retired = retired_endpoint_families()
    families: dict[str, list[str]] = load("endpoint_instances")["families"]
    return tuple(
        f"{_PREFIX}{family}.{size}" for family, sizes in families.items() if family not in retired for size in sizes
    )


def retired_endpoint_families() -> Mapping[str, str]:
    """Return the families that are gone, each with the one that came after it."""
    found: dict[str, str] = load("endpoint_instances")["retired"]
    return found


@cache
def endpoint_instance(name: str) -> EndpointInstance | None:
    """Return the facts of the type `name`, e.g. `ml.g4dn.xlarge`; `None` for one that endpoints do not have."""
    if name not in endpoint_instance_names():
        return None
    facts = ec2_instance(name.removeprefix(_PREFIX))
    return EndpointInstance(
        name=name,
        architecture=facts.architecture if facts else None,
        accelerator=facts.accelerator if facts else None,
        accelerators=facts.accelerators if facts else 0,
        accelerator_mib=_memory_mib(name),
        memory_gib=facts.memory_gib if facts else None,
        local_disk_gb=facts.instance_store_gb if facts else 0,
        known=facts is not None,
    )


def _memory_mib(name: str) -> int | None:
    neuron = neuron_instance(name.removeprefix(_PREFIX))
    return neuron.hbm_gib_per_device * _MIB_OF_GIB if neuron else gpu_memory_mib(family_of(name))
