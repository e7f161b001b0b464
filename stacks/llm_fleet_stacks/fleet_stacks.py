"""All stacks of one fleet file.

Modules that only some fleets need are imported on demand: importing all of them took half of a synth's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.clusters import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.cluster_stacks import HyperPodStack, ParallelClusterStack
from llm_fleet_stacks.sagemaker_stacks import SageMakerStacks
from llm_fleet_stacks.storage_stacks import DatabaseStack, Ground, NetworkStack, StorageStack

if TYPE_CHECKING:
    from llm_fleet.spec.monitoring import ClusterMetrics
    from llm_fleet_stacks.inference_stacks import ExportStack, InferenceStack
    from llm_fleet_stacks.monitoring_stacks import MetricsStack, MonitoringStack


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStacks:
    """The stacks of a fleet: `<fleet>-network`, `-storage`, `-database`, `-monitoring`, and one a cluster and more.

    They are `<fleet>-<cluster>` and `<fleet>-<service>`, and `<fleet>-<service>-export` where a model is compiled.
    """

    network: NetworkStack | None
    """`None` when the fleet uses an existing network, or in SageMaker's."""
    storage: StorageStack
    database: DatabaseStack | None
    """`None` when the fleet has no database for Slurm's accounting."""
    clusters: Mapping[str, HyperPodStack | ParallelClusterStack]
    """By their keys in the fleet file."""
    metrics: "MetricsStack | None"
    """`None` unless a workspace is created for the nodes' metrics."""
    monitoring: "MonitoringStack | None"
    """`None` without monitoring."""
    exports: "Mapping[str, ExportStack]"
    """By the keys of the services whose models they compile."""
    services: "Mapping[str, InferenceStack]"
    """By their keys in the fleet file."""
    sagemaker: SageMakerStacks
    """Those of the SageMaker pieces around clusters."""

    @classmethod
    def make(cls, scope: Construct, fleet: Fleet, *, account: str | None = None) -> "FleetStacks":
        """Create the stacks of `fleet` below `scope`, an app or a stage.

        `account`: default, the account of the CDK CLI's credentials. Raises `FleetError` for what could not be
        checked from the fleet file alone.
        """
        env = cdk.Environment(account=account, region=fleet.region)
        network_stack, network = _network(scope, fleet, env)
        storage = StorageStack(
            scope,
            fleet=fleet,
            env=env,
            network=network,
            # Its name comes from its stack: a retained bucket that was removed from the stack would conflict with the
            # next one. So a fleet without clusters for a while keeps it; one that only serves models needs none.
            lifecycle_bucket=bool(fleet.clusters) or not _is_without_nodes(fleet),
        )
        database, config = None, fleet.storage.slurm_database
        if config is not None and network is not None:  # The rules reject a fleet file with only one of them.
            database = DatabaseStack(scope, fleet=fleet, env=env, network=network, config=config)
        metrics_stack, metrics = _metrics(scope, fleet, env)
        ground = Ground(fleet=fleet, env=env, network=network, storage=storage, database=database and database.database)
        clusters: dict[str, HyperPodStack | ParallelClusterStack] = {}
        for name, cluster in fleet.clusters.items():
            if isinstance(cluster, HyperPodConfig):
                stack = HyperPodStack(scope, name, config=cluster, ground=ground, metrics=metrics.get(name))
            else:
                stack = ParallelClusterStack(scope, name, config=cluster, ground=ground, metrics=metrics.get(name))
            clusters[name], ground.clusters[name] = stack, stack.cluster
        monitoring = _monitoring(scope, ground)
        exports, services = _services(scope, ground)
        made = cls(
            network=network_stack,
            storage=storage,
            database=database,
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
    """Return whether `fleet` has no nodes that run scripts of a bucket."""
    without_nodes = (fleet.services, fleet.notebooks, fleet.studio, fleet.endpoints, fleet.training_jobs, fleet.watch)
    return any(without_nodes)


def _network(
    scope: Construct, fleet: Fleet, env: cdk.Environment
) -> tuple[NetworkStack | None, Network | NetworkConfig | None]:
    """Return the stack that makes the network, if one does, and what the other stacks are given."""
    if fleet.network is None or fleet.network.vpc is not None:
        return None, fleet.network
    stack = NetworkStack(scope, fleet=fleet, env=env, config=fleet.network)
    return stack, stack.network


def _metrics(
    scope: Construct, fleet: Fleet, env: cdk.Environment
) -> "tuple[MetricsStack | None, Mapping[str, ClusterMetrics]]":
    if fleet.monitoring is None:
        return None, {}
    from llm_fleet_stacks.monitoring_stacks import metrics_of

    return metrics_of(scope, fleet, env)


def _monitoring(scope: Construct, ground: Ground) -> "MonitoringStack | None":
    if ground.fleet.monitoring is None:
        return None
    from llm_fleet_stacks.monitoring_stacks import MonitoringStack

    return MonitoringStack(scope, config=ground.fleet.monitoring, ground=ground)


def _services(scope: Construct, ground: Ground) -> "tuple[dict[str, ExportStack], dict[str, InferenceStack]]":
    """Return the stacks of exports and services. The user starts the compilation: the stacks are independent."""
    if not ground.fleet.services:
        return {}, {}
    if ground.network is None:
        raise TypeError("a service requires a network; the rules reject a fleet file without one")
    from llm_fleet_stacks.inference_stacks import ExportStack, InferenceStack

    exports: dict[str, ExportStack] = {}
    services: dict[str, InferenceStack] = {}
    for name, config in ground.fleet.services.items():
        if config.export is not None:
            exports[name] = ExportStack(scope, name, config=config, export=config.export, ground=ground)
        services[name] = InferenceStack(scope, name, config=config, ground=ground)
    return exports, services
