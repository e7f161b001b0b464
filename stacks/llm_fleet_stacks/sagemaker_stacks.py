"""The stacks of a fleet's SageMaker pieces: notebooks, Studio, endpoints, training jobs and their watch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constructs import Construct

from llm_fleet_stacks.ground import Ground

if TYPE_CHECKING:
    from llm_fleet_stacks.endpoint_stack import EndpointStack
    from llm_fleet_stacks.monitoring_stack import MonitoringStack
    from llm_fleet_stacks.training_job_stack import TrainingJobStack
    from llm_fleet_stacks.watch_stack import WatchStack
    from llm_fleet_stacks.workbench_stacks import NotebookStack, StudioStack


@dataclass(frozen=True, slots=True, kw_only=True)
class SageMakerStacks:
    """`<fleet>-<notebook>`, `<fleet>-studio`, `<fleet>-<endpoint>`, `<fleet>-<training job>` and `<fleet>-watch`."""

    notebooks: "Mapping[str, NotebookStack]"
    """By their keys in the fleet file."""
    studio: "StudioStack | None"
    """`None` when the fleet has no Studio."""
    endpoints: "Mapping[str, EndpointStack]"
    """By their keys in the fleet file."""
    training_jobs: "Mapping[str, TrainingJobStack]"
    """By their keys in the fleet file."""
    watch: "WatchStack | None"
    """`None` when nobody watches; where `monitoring` tells events of clusters, one for that alone."""

    @classmethod
    def make(cls, scope: Construct, ground: Ground, *, monitoring: "MonitoringStack | None") -> "SageMakerStacks":
        """Make the stacks that the fleet of `ground` asks for below `scope`; see `FleetStacks.make`."""
        watch = _watch(scope, ground, monitoring)
        studio = _studio(scope, ground)
        return cls(
            notebooks=_notebooks(scope, ground),
            studio=studio,
            endpoints=_endpoints(scope, ground),
            # One that only tells of clusters starts no job again.
            training_jobs=_training_jobs(scope, ground, watch if ground.fleet.watch else None),
            watch=watch,
        )


def _watch(scope: Construct, ground: Ground, monitoring: "MonitoringStack | None") -> "WatchStack | None":
    fleet = ground.fleet
    if fleet.watch is None and fleet.monitoring is None:
        return None
    from llm_fleet_stacks.watch_stack import WatchStack, watch_of

    watching = watch_of(fleet)
    topic = monitoring.monitoring.topic if monitoring else None
    return watching and WatchStack(scope, f"{fleet.name}-watch", config=watching, ground=ground, topic=topic)


def _studio(scope: Construct, ground: Ground) -> "StudioStack | None":
    fleet = ground.fleet
    if fleet.studio is None:
        return None
    from llm_fleet_stacks.workbench_stacks import StudioStack

    return StudioStack(scope, f"{fleet.name}-studio", config=fleet.studio, ground=ground)


def _notebooks(scope: Construct, ground: Ground) -> "dict[str, NotebookStack]":
    fleet = ground.fleet
    if not fleet.notebooks:
        return {}
    from llm_fleet_stacks.workbench_stacks import NotebookStack

    return {
        key: NotebookStack(scope, f"{fleet.name}-{key}", config=config, ground=ground)
        for key, config in fleet.notebooks.items()
    }


def _endpoints(scope: Construct, ground: Ground) -> "dict[str, EndpointStack]":
    fleet = ground.fleet
    if not fleet.endpoints:
        return {}
    from llm_fleet_stacks.endpoint_stack import EndpointStack

    return {
        key: EndpointStack(scope, f"{fleet.name}-{key}", config=config, ground=ground)
        for key, config in fleet.endpoints.items()
    }


def _training_jobs(scope: Construct, ground: Ground, watch: "WatchStack | None") -> "dict[str, TrainingJobStack]":
    fleet = ground.fleet
    if not fleet.training_jobs:
        return {}
    from llm_fleet_stacks.training_job_stack import TrainingJobStack

    return {
        key: TrainingJobStack(scope, f"{fleet.name}-{key}", config=config, ground=ground, watch=watch)
        for key, config in fleet.training_jobs.items()
    }
