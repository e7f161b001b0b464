"""How each server's image exports a model for Neuron, and what that takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFacts:
    """How the image of one server exports, by optimum-neuron's command line."""

    cores: str
    """Argument for over how many cores the model is spread."""
    cast: str | None
    """Argument for the type that weights are cast to; `None` where the checkpoint's own is kept."""
    instance_type: str | None
    """Argument for the family that it is compiled for; `None` where only the host's own can be."""
    cpu: bool
    """Whether it can on a host without Neuron devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FargateFacts:
    """The largest tasks of Fargate."""

    cpu: int
    """CPU units."""
    memory_min_gib: int
    memory_max_gib: int
    memory_step_gib: int
    storage_max_gib: int


@cache
def model_exports() -> Mapping[str, ExportFacts]:
    """Return the servers whose images can export, by their names."""
    return MappingProxyType({name: ExportFacts(**facts) for name, facts in load("model_exports")["servers"].items()})


def fargate_facts() -> FargateFacts:
    """Return what Fargate has."""
    return FargateFacts(**load("model_exports")["fargate"])


def export_disk_copies() -> int:
    """Return how often the weights are on the disk while they are exported."""
    copies: int = load("model_exports")["disk_copies"]
    return copies


def tools_image() -> str:
    """Return the image of AWS's command line, which moves models between S3 and the disk."""
    image: str = load("model_exports")["tools_image"]
    return image
