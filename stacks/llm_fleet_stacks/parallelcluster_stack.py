"""The stack of one ParallelCluster. It comes and goes; network and storage stay."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.accounting.slurm_database import SlurmDatabase
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.fleet_file.storage import StorageConfig
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.network.network import Network
from llm_fleet.parallelcluster.parallel_cluster import ParallelCluster
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.parallelcluster import ParallelClusterSpec
from llm_fleet.spec.parallelcluster_storage import SharedStorage
from llm_fleet_stacks.accounting import parallelcluster_accounting
from llm_fleet_stacks.fleet_stack import REMOVAL, FleetStack
from llm_fleet_stacks.network_stack import network_for
from llm_fleet_stacks.node_setup import buckets_of, in_fleet
from llm_fleet_stacks.storage_stack import StorageStack


class ParallelClusterStack(FleetStack):
    """A ParallelCluster on the network and the storage of its fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: ParallelClusterConfig,
        fleet_name: str,
        mounts: StorageConfig,
        storage: StorageStack,
        network: Network | NetworkConfig,
        database: SlurmDatabase | None = None,
        metrics: ClusterMetrics | None = None,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make the cluster that `config` describes.

        `storage` has its file systems and buckets, `mounts` says where nodes mount them. `network`: one that another
        stack has made, or the description of an existing one. `database`: the fleet's own for accounting;
        default, none. `metrics`: where what nodes measure goes; default, nowhere. `env`: default, the one that the CDK
        CLI is called with. `tags`: default, none.
        """
        super().__init__(scope, id, description="ParallelCluster of an LLM fleet", env=env, tags=tags)
        here = network_for(self, network)
        assert here is not None
        self.cluster = ParallelCluster(
            self,
            "Cluster",
            config.narrowed(
                ParallelClusterSpec,
                shared_storage=(*_volumes(mounts, storage), *config.shared_storage),
                accounting=parallelcluster_accounting(
                    config.accounting, database=database, group=storage.shared_security_group
                ),
                scripts=config.scripts.model_copy(update={"bucket": storage.lifecycle_bucket.bucket}),
                metrics=metrics,
                **in_fleet(config, storage),
            ),
            fleet_name=fleet_name,
            network=here,
            lustre=storage.lustre,
            lustre_mount_path=mounts.fsx.mount_path if mounts.fsx else "/fsx",
            open_zfs=storage.open_zfs,
            open_zfs_mount_path=mounts.home.mount_path if mounts.home else "/home",
            read_buckets=buckets_of(self, config.reads, own=storage.buckets),
            write_buckets=buckets_of(self, config.writes, own=storage.buckets),
            deployed=_deployed(config),
            removal_policy=REMOVAL[config.removal],
        )
        """The cluster."""
        self.cluster.add_outputs()


def _deployed(config: ParallelClusterConfig) -> DeployedConfiguration | None:
    """Return the cluster as it was deployed last; `None` where nobody tells, or it is not there yet."""
    path = config.deployed_path
    return None if path is None else DeployedConfiguration.if_deployed(path, cluster=config.cluster_name)


def _volumes(mounts: StorageConfig, storage: StorageStack) -> list[SharedStorage]:
    """Return the volumes of the fleet's OpenZFS file system beside its home directories."""
    return [
        SharedStorage.open_zfs(name, mount_dir=volume.mount_path, volume=storage.volumes[name])
        for name, volume in (mounts.home.volumes.items() if mounts.home else ())
    ]
