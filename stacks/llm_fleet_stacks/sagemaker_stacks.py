"""The stacks of a fleet's SageMaker pieces: notebooks, Studio, endpoints, training jobs and their watch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.storage_stack import StorageStack

if TYPE_CHECKING:
    from llm_fleet_stacks.endpoint_stack import EndpointStack
    from llm_fleet_stacks.hyperpod_stack import HyperPodStack
    from llm_fleet_stacks.monitoring_stack import MonitoringStack
    from llm_fleet_stacks.notebook_stack import NotebookStack
    from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
    from llm_fleet_stacks.studio_stack import StudioStack
    from llm_fleet_stacks.training_job_stack import TrainingJobStack
    from llm_fleet_stacks.watch_stack import WatchStack


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
    def make(
        cls,
        scope: Construct,
        fleet: Fleet,
        *,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]",
        monitoring: "MonitoringStack | None",
        env: cdk.Environment,
    ) -> "SageMakerStacks":
        """Make the stacks that `fleet` asks for below `scope`; see `FleetStacks.make`."""
        watch = _watch(
            scope, fleet, storage=storage, network=network, clusters=clusters, monitoring=monitoring, env=env
        )
        studio = _studio(scope, fleet, storage=storage, network=network, clusters=clusters, env=env)
        return cls(
            notebooks=_notebooks(scope, fleet, storage=storage, network=network, clusters=clusters, env=env),
            studio=studio,
            endpoints=_endpoints(scope, fleet, storage=storage, network=network, env=env),
            training_jobs=_training_jobs(scope, fleet, storage=storage, network=network, watch=watch, env=env),
            watch=watch,
        )


def _watch(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]",
    monitoring: "MonitoringStack | None",
    env: cdk.Environment,
) -> "WatchStack | None":
    if fleet.watch is None and fleet.monitoring is None:
        return None
    from llm_fleet_stacks.watch_stack import WatchStack, watch_of

    watching = watch_of(fleet)
    return watching and WatchStack(
        scope,
        f"{fleet.name}-watch",
        config=watching,
        fleet=fleet,
        storage=storage,
        network=network,
        clusters=clusters,
        topic=monitoring.monitoring.topic if monitoring else None,
        env=env,
        tags=fleet.tags,
    )


def _studio(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]",
    env: cdk.Environment,
) -> "StudioStack | None":
    if fleet.studio is None:
        return None
    from llm_fleet_stacks.studio_stack import StudioStack

    return StudioStack(
        scope,
        f"{fleet.name}-studio",
        config=fleet.studio,
        fleet=fleet,
        storage=storage,
        network=network,
        clusters=clusters,
        env=env,
        tags=fleet.tags,
    )


def _notebooks(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]",
    env: cdk.Environment,
) -> "dict[str, NotebookStack]":
    if not fleet.notebooks:
        return {}
    from llm_fleet_stacks.notebook_stack import NotebookStack

    return {
        key: NotebookStack(
            scope,
            f"{fleet.name}-{key}",
            config=config,
            fleet=fleet,
            storage=storage,
            network=network,
            clusters=clusters,
            env=env,
            tags=fleet.tags,
        )
        for key, config in fleet.notebooks.items()
    }


def _endpoints(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    env: cdk.Environment,
) -> "dict[str, EndpointStack]":
    if not fleet.endpoints:
        return {}
    from llm_fleet_stacks.endpoint_stack import EndpointStack

    return {
        key: EndpointStack(
            scope,
            f"{fleet.name}-{key}",
            config=config,
            fleet=fleet,
            storage=storage,
            network=network,
            env=env,
            tags=fleet.tags,
        )
        for key, config in fleet.endpoints.items()
    }


def _training_jobs(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    watch: "WatchStack | None",
    env: cdk.Environment,
) -> "dict[str, TrainingJobStack]":
    if not fleet.training_jobs:
        return {}
    from llm_fleet_stacks.training_job_stack import TrainingJobStack

    return {
        key: TrainingJobStack(
            scope,
            f"{fleet.name}-{key}",
            config=config,
            fleet=fleet,
            storage=storage,
            network=network,
            # One that only tells of clusters starts no job again.
            watch=watch if fleet.watch else None,
            env=env,
            tags=fleet.tags,
        )
        for key, config in fleet.training_jobs.items()
    }
