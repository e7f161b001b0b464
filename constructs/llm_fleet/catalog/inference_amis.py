"""Facts about the machine images that SageMaker boots an endpoint's instances from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceAmi:
    """One value of `InferenceAmiVersion`."""

    name: str
    accelerator: str
    """`gpu` or `neuron`."""
    driver: str
    """Version of NVIDIA's driver, or of Neuron's."""
    families: tuple[str, ...]
    """The instance families that it boots on."""
    cuda: str | None = None
    """The newest CUDA that the driver knows; `None` for Neuron."""


@cache
def inference_amis() -> Mapping[str, InferenceAmi]:
    """Return every AMI that the API knows by name, the oldest driver of each accelerator first."""
    listed: dict[str, dict[str, Any]] = load("inference_amis")["amis"]
    return {name: _ami(name, dict(facts)) for name, facts in listed.items()}


def _ami(name: str, facts: dict[str, Any]) -> InferenceAmi:
    families: list[str] = facts.pop("families")
    return InferenceAmi(name=name, families=tuple(families), **facts)


def default_cuda(family: str) -> str | None:
    """Return the CUDA of the driver that `family` boots with when nobody names an AMI; `None` where nobody tells."""
    known: str | None = load("inference_amis")["default_cuda"].get(family)
    return known
