"""Facts about the instance types that HyperPod offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance type, under its `ml.` name. `None` stands for what no source tells."""

    name: str
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


@cache
def instances() -> Mapping[str, Instance]:
    """Return every instance type that HyperPod's API accepts, by its `ml.` name."""
    return MappingProxyType({name: Instance(name=name, **facts) for name, facts in load("instances").items()})
