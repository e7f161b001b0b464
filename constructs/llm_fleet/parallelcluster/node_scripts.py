"""What runs on the nodes of a cluster, and which of them use EFA."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.parallelcluster.cluster_settings import is_unchecked
from llm_fleet.rules.parallelcluster.nodes import efa_of
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import PlacedParallelCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScript:
    """A script and its arguments (`Script`, `Args`). Arguments are logged: no secret may be among them."""

    script: str
    """Where it is, `s3://…`."""
    args: Sequence[str] = ()
    """What it is called with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHooks:
    """The scripts of a head node or a login pool (`CustomActions`)."""

    on_node_configured: NodeScript | None = None
    """After ParallelCluster has configured the node. It can never be changed: neither place nor arguments."""
    on_node_updated: NodeScript | None = None
    """After an update of the cluster. It may change with every update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What runs on which nodes (`CustomActions`)."""

    head_node: NodeHooks = field(default_factory=NodeHooks)
    queues: Mapping[str, NodeScript] = field(default_factory=dict[str, NodeScript])
    """`OnNodeConfigured` by queue; nodes are replaced when it changes (`QueueUpdateStrategy`)."""
    login_pools: Mapping[str, NodeHooks] = field(default_factory=dict[str, NodeHooks])
    """By login pool."""


def efa_clients(shape: PlacedParallelCluster) -> list[EfaClients]:
    """Return the nodes of queues, by compute resource; head and login nodes have no EFA."""
    known = not is_unresolved(shape.os) and not is_unchecked(shape.os)
    return [
        EfaClients(
            name=f"{queue.name}/{resource.name}",
            instance_types=resource.types,
            nodes=resource.max_count,
            efa=efa_of(resource),
            system=shape.os if known else None,
        )
        for queue in shape.queues
        for resource in queue.compute_resources
    ]
