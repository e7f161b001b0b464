"""What the stacks of a fleet's services, notebooks, endpoints, jobs and watch stand on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.network.network import Network
from llm_fleet_stacks.network_stack import network_for
from llm_fleet_stacks.storage_stack import StorageStack

if TYPE_CHECKING:
    from llm_fleet.sagemaker.workbench import ReachableCluster
    from llm_fleet_stacks.hyperpod_stack import HyperPodStack
    from llm_fleet_stacks.parallelcluster_stack import ParallelClusterStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A fleet with what has been made of it before."""

    fleet: Fleet
    storage: StorageStack
    """Has the fleet's own buckets, file systems and key."""
    network: Network | NetworkConfig | None
    """One that another stack has made, the description of an existing one, or none."""
    clusters: "Mapping[str, HyperPodStack | ParallelClusterStack]"
    """Those of the fleet, by their keys in the fleet file."""
    env: cdk.Environment
    """Account and region of all stacks."""

    def network_in(self, stack: Construct) -> Network | None:
        """Return the network for use in `stack`; see `network_for`."""
        return network_for(stack, self.network)

    def reached(self, names: Sequence[str]) -> "list[ReachableCluster]":
        """Return the clusters of those `names`, keys of the fleet file, in their order."""
        return [self.clusters[name].cluster for name in names]
