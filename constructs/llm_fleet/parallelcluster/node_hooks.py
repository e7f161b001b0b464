"""When ParallelCluster runs a script on a node that lives through updates."""

from dataclasses import dataclass

from llm_fleet.parallelcluster.node_script import NodeScript


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHooks:
    """The scripts of a head node or a login pool (`CustomActions`)."""

    on_node_configured: NodeScript | None = None
    """After ParallelCluster has configured the node. It can never be changed: neither place nor arguments."""
    on_node_updated: NodeScript | None = None
    """After an update of the cluster. It may change with every update."""
