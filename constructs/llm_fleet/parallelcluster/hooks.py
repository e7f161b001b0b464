"""The scripts of all nodes of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from llm_fleet.parallelcluster.node_hooks import NodeHooks
from llm_fleet.parallelcluster.node_script import NodeScript


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What runs on which nodes (`CustomActions`)."""

    head_node: NodeHooks = field(default_factory=NodeHooks)
    queues: Mapping[str, NodeScript] = field(default_factory=dict[str, NodeScript])
    """`OnNodeConfigured` by queue; nodes are replaced when it changes (`QueueUpdateStrategy`)."""
    login_pools: Mapping[str, NodeHooks] = field(default_factory=dict[str, NodeHooks])
    """By login pool."""
