"""The stack of one HyperPod cluster. It comes and goes; network and storage stay."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.fleet_file.storage import StorageConfig
from llm_fleet.hyperpod.hyperpod_cluster import HyperPodCluster
from llm_fleet.network.network import Network
from llm_fleet.references import role_of
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.node_setup import LifecycleScripts
from llm_fleet_stacks.accounting import hyperpod_accounting
from llm_fleet_stacks.fleet_stack import REMOVAL, FleetStack
from llm_fleet_stacks.network_stack import network_for
from llm_fleet_stacks.node_setup import buckets_of, in_fleet
from llm_fleet_stacks.storage_stack import StorageStack

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase


class HyperPodStack(FleetStack):
    """A HyperPod cluster on the network and the storage of its fleet."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: HyperPodConfig,
        fleet_name: str,
        mounts: StorageConfig,
        storage: StorageStack,
        network: Network | NetworkConfig | None,
        database: "SlurmDatabase | None" = None,
        metrics: ClusterMetrics | None = None,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Make the cluster that `config` describes.

        `storage` has its file systems and buckets, `mounts` says where nodes mount them. `network`: one that another
        stack has made, or the description of an existing one; `None` is one that SageMaker manages. `database`: the
        fleet's own for accounting; default, none. `metrics`: where what nodes measure goes; default, nowhere. `env`:
        default, the one that the CDK CLI is called with. `tags`: default, none.
        """
        super().__init__(scope, id, description="HyperPod cluster of an LLM fleet", env=env, tags=tags)
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
                accounting_database=hyperpod_accounting(
                    config.accounting_database, database=database, group=storage.shared_security_group
                ),
                scripts=_in_bucket(config.scripts, storage),
                metrics=metrics,
                **in_fleet(config, storage),
            ),
            fleet_name=fleet_name,
            network=network_for(self, network),
            lustre=storage.lustre,
            lustre_mount_path=mounts.fsx.mount_path if mounts.fsx else "/fsx",
            open_zfs=storage.open_zfs,
            open_zfs_mount_path=mounts.home.mount_path if mounts.home else "/home",
            role=role_of(self, "ExecutionRole", config.execution_role_arn),
            read_buckets=buckets_of(self, config.reads, own=storage.buckets),
            write_buckets=buckets_of(self, config.writes, own=storage.buckets),
            removal_policy=REMOVAL[config.removal],
        )
        """The cluster."""
        self.cluster.add_outputs()

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        self.offer(self.cluster.cluster_arn)


def _in_bucket(scripts: LifecycleScripts, storage: StorageStack) -> LifecycleScripts:
    """Return `scripts` in the fleet's own bucket unless the file names another."""
    own = storage.lifecycle_bucket.bucket
    return scripts if scripts.bucket is not None else scripts.model_copy(update={"bucket": own})
