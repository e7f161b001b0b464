"""The stacks of clusters, one each. They are short-lived; network and storage are retained.

Each kind's construct is imported when a fleet has one; see `fleet_stacks`.
"""

from typing import TYPE_CHECKING, Any

from constructs import Construct

from llm_fleet.fleet_file.clusters import HyperPodConfig, NodeSetupModel, ParallelClusterConfig
from llm_fleet.references import role_of
from llm_fleet.spec.cluster import LifecycleScripts
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.parallelcluster import ParallelClusterSpec, SharedStorage
from llm_fleet.spec.slurm_database import Accounting, AccountingDatabase
from llm_fleet_stacks.fleet_stack import REMOVAL, FleetStack
from llm_fleet_stacks.storage_stacks import Ground, StorageStack

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase
    from llm_fleet.spec.monitoring import ClusterMetrics


class HyperPodStack(FleetStack):
    """A HyperPod cluster on the network and the storage of its fleet."""

    def __init__(
        self,
        scope: Construct,
        key: str,
        *,
        config: HyperPodConfig,
        ground: Ground,
        metrics: "ClusterMetrics | None",
    ) -> None:
        """Make the cluster that `config` describes on `ground`, with the destination of metrics in `metrics`."""
        from llm_fleet.hyperpod.hyperpod_cluster import HyperPodCluster

        super().__init__(scope, key, fleet=ground.fleet, env=ground.env, description="HyperPod cluster of an LLM fleet")
        storage = ground.storage
        self.cluster = HyperPodCluster(
            self,
            "Cluster",
            config.narrowed(
                HyperPodClusterSpec,
                # Existing security groups are imported once for all clusters, in the stack of the storage.
                groups=tuple(
                    group.model_copy(
                        update={"security_groups": tuple(map(storage.shared_security_group, group.security_group_ids))}
                    )
                    for group in config.running_groups
                ),
                accounting_database=_hyperpod_accounting(config, ground),
                scripts=_in_bucket(config.scripts, storage),
                metrics=metrics,
                **_in_fleet(config, storage),
            ),
            network=ground.network_in(self),
            role=role_of(self, "ExecutionRole", config.execution_role_arn),
            **_is_on(self, config, ground),
        )
        """The cluster."""
        self.cluster.add_outputs()

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        self.offer(self.cluster.cluster_arn)


class ParallelClusterStack(FleetStack):
    """A ParallelCluster on the network and the storage of its fleet."""

    def __init__(
        self,
        scope: Construct,
        key: str,
        *,
        config: ParallelClusterConfig,
        ground: Ground,
        metrics: "ClusterMetrics | None",
    ) -> None:
        """Make the cluster that `config` describes on `ground`, with the destination of metrics in `metrics`."""
        from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
        from llm_fleet.parallelcluster.parallel_cluster import ParallelCluster

        super().__init__(scope, key, fleet=ground.fleet, env=ground.env, description="ParallelCluster of an LLM fleet")
        storage, network, deployed = ground.storage, ground.network_in(self), config.deployed_path
        if network is None:
            raise TypeError("a ParallelCluster requires a network; the rules reject a fleet file without one")
        self.cluster = ParallelCluster(
            self,
            "Cluster",
            config.narrowed(
                ParallelClusterSpec,
                shared_storage=(*_volumes(ground), *config.shared_storage),
                accounting=_parallelcluster_accounting(config, ground),
                scripts=config.scripts.model_copy(update={"bucket": storage.lifecycle_bucket.bucket}),
                metrics=metrics,
                **_in_fleet(config, storage),
            ),
            network=network,
            # Empty if it is not deployed yet.
            deployed=deployed and DeployedConfiguration.if_deployed(deployed, cluster=config.cluster_name),
            **_is_on(self, config, ground),
        )
        """The cluster."""
        self.cluster.add_outputs()


def _is_on(stack: FleetStack, config: NodeSetupModel, ground: Ground) -> dict[str, Any]:
    """Return the parameters that constructs of both kinds have alike."""
    storage, mounts = ground.storage, ground.fleet.storage
    return {
        "fleet_name": ground.fleet.name,
        "lustre": storage.lustre,
        "lustre_mount_path": mounts.fsx.mount_path if mounts.fsx else "/fsx",
        "open_zfs": storage.open_zfs,
        "open_zfs_mount_path": mounts.home.mount_path if mounts.home else "/home",
        "read_buckets": ground.buckets_in(stack, config.reads),
        "write_buckets": ground.buckets_in(stack, config.writes),
        "removal_policy": REMOVAL[config.removal],
    }


def _in_fleet(config: NodeSetupModel, storage: StorageStack) -> dict[str, Any]:
    """Return the fields of the cluster's description in which `config` names what else the fleet has."""
    mounts = (
        mount.model_copy(update={"bucket": storage.buckets.get(str(mount.bucket), mount.bucket)})
        for mount in config.s3_mounts
    )
    return {**config.of_fleet, "s3_mounts": tuple(mounts)}


def _in_bucket(scripts: LifecycleScripts, storage: StorageStack) -> LifecycleScripts:
    """Return `scripts` in the fleet's own bucket unless the file names another."""
    own = storage.lifecycle_bucket.bucket
    return scripts if scripts.bucket is not None else scripts.model_copy(update={"bucket": own})


def _hyperpod_accounting(config: HyperPodConfig, ground: Ground) -> AccountingDatabase | None:
    """Return the database of a HyperPod cluster; `None` for the controller's."""
    requested = config.accounting_database
    if requested is None:
        return None
    if requested.of_fleet:
        return _made(ground).for_hyperpod()
    return requested.narrowed(AccountingDatabase, connections=_guard(requested, ground))


def _parallelcluster_accounting(config: ParallelClusterConfig, ground: Ground) -> Accounting | None:
    """Return the accounting of a ParallelCluster; `None` for none."""
    requested = config.accounting
    if requested is None:
        return None
    if requested.of_fleet:
        return _made(ground).for_parallelcluster()
    return requested.narrowed(Accounting, connections=_guard(requested, ground))


def _guard(requested: AccountingDatabase | Accounting, ground: Ground) -> object:
    """Return what lets nodes in; a security group that is named by its id is the same one for every cluster."""
    guard = requested.connections
    return ground.storage.shared_security_group(guard) if isinstance(guard, str) else guard


def _made(ground: Ground) -> "SlurmDatabase":
    if ground.database is None:
        raise TypeError("no database was created; the rules reject a fleet file without one")
    return ground.database


def _volumes(ground: Ground) -> list[SharedStorage]:
    """Return the volumes of the fleet's OpenZFS file system in addition to its home directories."""
    home = ground.fleet.storage.home
    return [
        SharedStorage.open_zfs(name, mount_dir=volume.mount_path, volume=ground.storage.volumes[name])
        for name, volume in (home.volumes.items() if home else ())
    ]
