"""Facts about training jobs of SageMaker: the limits of CreateTrainingJob, launchers, and what has ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """How a container starts the processes of a training script."""

    name: str
    """As the fleet file writes it, e.g. `torchrun`."""
    title: str
    hyperparameters: Mapping[str, Any]
    """By which the container's toolkit knows it."""
    neuron: bool
    """Whether it starts processes on Trainium."""
    python_script: bool
    """Whether the entry point must be a Python script that is no package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Something that has been taken out of service, or that another thing has replaced."""

    what: str
    successor: str
    """What to do instead, as a remedy."""


@cache
def training_job_limit(field: str) -> Limit:
    """Return the limits of `field`, by its path in the request, e.g. `TrainingJobName`.

    `[]` stands for a member of a list, `{}` for a value of a map and `{key}` for its key. A field that has no limit, or
    is misspelt, is a `KeyError`.
    """
    facts = load("training_job_limits")["limits"][field]
    return Limit(minimum=facts.get("min"), maximum=facts.get("max"), pattern=facts.get("pattern"))


def training_job_fact(name: str) -> Any:
    """Return a single number or text of the catalog, by its name, e.g. `checkpoint_path`."""
    return load("training_job")[name]


@cache
def name_limit() -> Limit:
    """Return how long a job's name may be, so that what is added to it at each start has room."""
    whole = training_job_limit("TrainingJobName")
    assert whole.maximum is not None
    return Limit(minimum=whole.minimum, maximum=whole.maximum - training_job_fact("job_suffix"), pattern=whole.pattern)


@cache
def launchers() -> Mapping[str, Launcher]:
    """Return every launcher by name."""
    facts: dict[str, dict[str, Any]] = load("training_job")["launchers"]
    return MappingProxyType({name: Launcher(name=name, **each) for name, each in facts.items()})


@cache
def ended_hyperparameters() -> Mapping[str, Ended]:
    """Return what hyperparameters switched on that has ended, by their names."""
    facts: dict[str, dict[str, str]] = load("training_job")["ended_hyperparameters"]
    return MappingProxyType({name: Ended(**each) for name, each in facts.items()})
