"""All stacks of one fleet file.

What only some fleets ask for is imported when a fleet asks for it: importing all of it took half of a synth's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.check_stack_names import EXPORT
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.ground import Ground
from llm_fleet_stacks.network_stack import NetworkStack
from llm_fleet_stacks.sagemaker_stacks import SageMakerStacks
from llm_fleet_stacks.storage_stack import StorageStack

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase
    from llm_fleet.spec.monitoring import ClusterMetrics
    from llm_fleet_stacks.database_stack import DatabaseStack
    from llm_fleet_stacks.hyperpod_stack import HyperPodStack
    from llm_fleet_stacks.inference_stack import ExportStack, InferenceStack
    from llm_fleet_stacks.monitoring_stack import MetricsStack, MonitoringStack
    from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStacks:
    """The stacks of a fleet: `<fleet>-network`, `-storage`, `-database`, `-monitoring`, and one a cluster and more.

    They are `<fleet>-<cluster>` and `<fleet>-<service>`, and `<fleet>-<service>-export` where a model is compiled.
    """

    network: NetworkStack | None
    """`None` when the fleet stands in an existing network, or in SageMaker's."""
    storage: StorageStack
    database: "DatabaseStack | None"
    """`None` when the fleet has no database for Slurm's accounting."""
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]"
    """By their keys in the fleet file."""
    metrics: "MetricsStack | None"
    """`None` unless a workspace is made for what nodes measure."""
    monitoring: "MonitoringStack | None"
    """`None` when nothing is watched."""
    exports: "Mapping[str, ExportStack]"
    """By the keys of the services whose models they compile."""
    services: "Mapping[str, InferenceStack]"
    """By their keys in the fleet file."""
    sagemaker: SageMakerStacks
    """Those of the SageMaker pieces around clusters."""

    @classmethod
    def make(cls, scope: Construct, fleet: Fleet, *, account: str | None = None) -> "FleetStacks":
        """Make the stacks that `fleet` asks for below `scope`, an app or a stage.

        `account`: default, whichever account the CDK CLI is called with. Raises `FleetError` for what the fleet file
        alone could not tell.
        """
        env = cdk.Environment(account=account, region=fleet.region)
        network_stack, network = _network(scope, fleet, env)
        storage = StorageStack(
            scope,
            f"{fleet.name}-storage",
            config=fleet.storage,
            fleet_name=fleet.name,
            network=network,
            # Its name is its stack's: one that was taken out, and is retained, would be in the way of the next. So a
            # fleet that is without clusters for a while keeps it; one that only ever serves has nothing to keep.
            lifecycle_bucket=bool(fleet.clusters) or not _is_without_nodes(fleet),
            env=env,
            tags=fleet.tags,
            termination_protection=fleet.termination_protection,
        )
        database_stack = _database(scope, fleet, network, env)
        database = database_stack.database if database_stack is not None else None
        metrics_stack, metrics = _metrics(scope, fleet, env)
        clusters = {
            name: _cluster(
                scope,
                name,
                cluster,
                fleet,
                storage=storage,
                network=network,
                database=database,
                metrics=metrics.get(name),
                env=env,
            )
            for name, cluster in fleet.clusters.items()
        }
        monitoring = _monitoring(scope, fleet, storage=storage, database=database, clusters=clusters, env=env)
        ground = Ground(fleet=fleet, storage=storage, network=network, clusters=clusters, env=env)
        exports, services = _services(scope, ground)
        made = cls(
            network=network_stack,
            storage=storage,
            database=database_stack,
            clusters=clusters,
            metrics=metrics_stack,
            monitoring=monitoring,
            exports=exports,
            services=services,
            sagemaker=SageMakerStacks.make(scope, ground, monitoring=monitoring),
        )
        made._offer_values()
        return made

    def _offer_values(self) -> None:
        """Export what stacks offer to one another. It comes last: some is made only when another stack asks for it."""
        offering = (self.network, self.storage, self.database, self.metrics, self.monitoring, self.sagemaker.watch)
        for stack in (*offering, *self.clusters.values()):
            if stack is not None:
                stack.offer_values()


def _is_without_nodes(fleet: Fleet) -> bool:
    """Return whether what `fleet` asks for has no nodes whose scripts a bucket is for."""
    without_nodes = (fleet.services, fleet.notebooks, fleet.studio, fleet.endpoints, fleet.training_jobs, fleet.watch)
    return any(without_nodes)


def _database(
    scope: Construct, fleet: Fleet, network: Network | NetworkConfig | None, env: cdk.Environment
) -> "DatabaseStack | None":
    config = fleet.storage.slurm_database
    if config is None or network is None:  # the fleet file has been refused if there is one without the other
        return None
    from llm_fleet_stacks.database_stack import DatabaseStack

    return DatabaseStack(
        scope,
        f"{fleet.name}-database",
        config=config,
        network=network,
        env=env,
        tags=fleet.tags,
        termination_protection=fleet.termination_protection,
    )


def _metrics(
    scope: Construct, fleet: Fleet, env: cdk.Environment
) -> "tuple[MetricsStack | None, Mapping[str, ClusterMetrics]]":
    if fleet.monitoring is None:
        return None, {}
    from llm_fleet_stacks.monitoring_stack import metrics_of

    return metrics_of(scope, fleet, env)


def _monitoring(
    scope: Construct,
    fleet: Fleet,
    *,
    storage: StorageStack,
    database: "SlurmDatabase | None",
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]",
    env: cdk.Environment,
) -> "MonitoringStack | None":
    if fleet.monitoring is None:
        return None
    from llm_fleet_stacks.monitoring_stack import MonitoringStack

    return MonitoringStack(
        scope,
        f"{fleet.name}-monitoring",
        config=fleet.monitoring,
        fleet=fleet,
        storage=storage,
        database=database,
        clusters=clusters,
        env=env,
        tags=fleet.tags,
    )


def _cluster(
    scope: Construct,
    name: str,
    config: HyperPodConfig | ParallelClusterConfig,
    fleet: Fleet,
    *,
    storage: StorageStack,
    network: Network | NetworkConfig | None,
    database: "SlurmDatabase | None",
    metrics: "ClusterMetrics | None",
    env: cdk.Environment,
) -> "HyperPodStack | ParallelClusterStack":
    id = f"{fleet.name}-{name}"
    if isinstance(config, HyperPodConfig):
        from llm_fleet_stacks.hyperpod_stack import HyperPodStack

        return HyperPodStack(
            scope,
            id,
            config=config,
            fleet_name=fleet.name,
            mounts=fleet.storage,
            storage=storage,
            network=network,
            database=database,
            metrics=metrics,
            env=env,
            tags=fleet.tags,
        )
    if network is None:
        raise TypeError("a ParallelCluster stands in a network; the fleet file has been refused without one")
    from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack

    return ParallelClusterStack(
        scope,
        id,
        config=config,
        fleet_name=fleet.name,
        mounts=fleet.storage,
        storage=storage,
        network=network,
        database=database,
        metrics=metrics,
        env=env,
        tags=fleet.tags,
    )


def _services(scope: Construct, ground: Ground) -> "tuple[dict[str, ExportStack], dict[str, InferenceStack]]":
    """Return the stacks of exports and services. A model is compiled by hand: neither waits for the other."""
    fleet = ground.fleet
    if not fleet.services:
        return {}, {}
    if ground.network is None:
        raise TypeError("a service stands in a network; the fleet file has been refused without one")
    from llm_fleet_stacks.inference_stack import ExportStack, InferenceStack

    exports: dict[str, ExportStack] = {}
    services: dict[str, InferenceStack] = {}
    for name, config in fleet.services.items():
        id = config.name_in(fleet.name)
        if config.export is not None:
            exports[name] = ExportStack(scope, f"{id}{EXPORT}", config=config, export=config.export, ground=ground)
        services[name] = InferenceStack(scope, id, config=config, ground=ground)
    return exports, services


def _network(
    scope: Construct, fleet: Fleet, env: cdk.Environment
) -> tuple[NetworkStack | None, Network | NetworkConfig | None]:
    """Return the stack that makes the network, if one does, and what the other stacks are given."""
    if fleet.network is None or fleet.network.vpc is not None:
        return None, fleet.network
    stack = NetworkStack(
        scope,
        f"{fleet.name}-network",
        config=fleet.network,
        endpoint_features=endpoint_features(fleet),
        env=env,
        tags=fleet.tags,
        termination_protection=fleet.termination_protection,
    )
    return stack, stack.network
