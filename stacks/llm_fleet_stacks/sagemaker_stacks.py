"""The stacks of a fleet's SageMaker pieces: notebooks, Studio, endpoints, training jobs and their watch."""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.endpoint_stack import EndpointStack
from llm_fleet_stacks.hyperpod_stack import HyperPodStack
from llm_fleet_stacks.monitoring_stack import MonitoringStack
from llm_fleet_stacks.notebook_stack import NotebookStack
from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack
from llm_fleet_stacks.storage_stack import StorageStack
from llm_fleet_stacks.studio_stack import StudioStack
from llm_fleet_stacks.training_job_stack import TrainingJobStack
from llm_fleet_stacks.watch_stack import WatchStack, watch_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SageMakerStacks:
    """`<fleet>-<notebook>`, `<fleet>-studio`, `<fleet>-<endpoint>`, `<fleet>-<training job>` and `<fleet>-watch`."""

    notebooks: Mapping[str, NotebookStack]
    """By their keys in the fleet file."""
    studio: StudioStack | None
    """`None` when the fleet has no Studio."""
    endpoints: Mapping[str, EndpointStack]
    """By their keys in the fleet file."""
    training_jobs: Mapping[str, TrainingJobStack]
    """By their keys in the fleet file."""
    watch: WatchStack | None
    """`None` when nobody watches; where `monitoring` tells events of clusters, one for that alone."""

    @classmethod
    def make(
        cls,
        scope: Construct,
        fleet: Fleet,
        *,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        clusters: Mapping[str, HyperPodStack | ParallelClusterStack],
        monitoring: MonitoringStack | None,
        env: cdk.Environment,
    ) -> "SageMakerStacks":
        """Make the stacks that `fleet` asks for below `scope`; see `FleetStacks.make`."""
        name, tags = fleet.name, fleet.tags
        watching = watch_of(fleet)
        watch = watching and WatchStack(
            scope,
            f"{name}-watch",
            config=watching,
            fleet=fleet,
            storage=storage,
            network=network,
            clusters=clusters,
            topic=monitoring.monitoring.topic if monitoring else None,
            env=env,
            tags=tags,
        )
        studio = fleet.studio and StudioStack(
            scope,
            f"{name}-studio",
            config=fleet.studio,
            fleet=fleet,
            storage=storage,
            network=network,
            clusters=clusters,
            env=env,
            tags=tags,
        )
        return cls(
            notebooks={
                key: NotebookStack(
                    scope,
                    f"{name}-{key}",
                    config=config,
                    fleet=fleet,
                    storage=storage,
                    network=network,
                    clusters=clusters,
                    env=env,
                    tags=tags,
                )
                for key, config in fleet.notebooks.items()
            },
            studio=studio,
            endpoints={
                key: EndpointStack(
                    scope,
                    f"{name}-{key}",
                    config=config,
                    fleet=fleet,
                    storage=storage,
                    network=network,
                    env=env,
                    tags=tags,
                )
                for key, config in fleet.endpoints.items()
            },
            training_jobs={
                key: TrainingJobStack(
                    scope,
                    f"{name}-{key}",
                    config=config,
                    fleet=fleet,
                    storage=storage,
                    network=network,
                    # One that only tells of clusters starts no job again.
                    watch=watch if fleet.watch else None,
                    env=env,
                    tags=tags,
                )
                for key, config in fleet.training_jobs.items()
            },
            watch=watch,
        )
