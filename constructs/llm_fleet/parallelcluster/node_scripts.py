"""The groups of nodes of a cluster, and what they run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aws_cdk import aws_s3 as s3

from llm_fleet.lifecycle.node_manifest import NodeGroup
from llm_fleet.lifecycle.node_setup import OwnStep
from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.parallelcluster.cluster_settings import is_unchecked
from llm_fleet.rules.parallelcluster.nodes import efa_of
from llm_fleet.rules.terms import NodeReports, NodeType, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import LoginPool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScripts:
    """The scripts that nodes run once ParallelCluster has configured them (`OnNodeConfigured`).

    `NodeScripts()` is the default of a cluster: the scripts that this library ships, uploaded with their manifest into
    a bucket made for it.
    """

    skip_steps: Sequence[str] = ()
    """Names of shipped steps that no node takes. Default: none are skipped."""
    own_steps: Sequence[OwnStep] = ()
    """Steps of your own among the shipped ones. Default: none."""
    own_scripts: Path | None = None
    """The folder with the scripts of `own_steps`, uploaded beside the shipped ones. Default: none."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start.

    Default: report and log in the scripts' bucket, below `reports/`; a metric and an event when it failed. In a
    network without internet an event needs the interface endpoint `events`."""
    bucket: s3.IBucket | None = None
    """Where the scripts are uploaded. Default: a bucket is made, and retained with its old bundles."""
    scripts: Path | None = None
    """A folder to upload in place of the shipped one, with the same entry point. Default: the shipped scripts."""


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


HEAD_NODE = "HeadNode"


def pool_group(pool: LoginPool) -> str:
    """Return the group of the nodes of `pool`; a queue may have the pool's own name."""
    return f"LoginNodes-{pool.name}"


def node_groups(shape: PlacedParallelCluster) -> list[NodeGroup]:
    """Return every group of nodes: the head node, each queue under its name, each login pool."""
    head = _group(HEAD_NODE, NodeType.CONTROLLER, [shape.head_node.instance_type])
    queues = [
        _group(
            queue.name,
            NodeType.COMPUTE,
            list(dict.fromkeys(name for resource in queue.compute_resources for name in resource.types)),
            partition=queue.name,
            efa=any(efa_of(resource) for resource in queue.compute_resources),
        )
        for queue in shape.queues
    ]
    pools = [_group(pool_group(pool), NodeType.LOGIN, [pool.instance_type]) for pool in shape.login_pools]
    return [head, *queues, *pools]


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


def _group(
    name: str, role: NodeType, instance_types: list[str], *, partition: str | None = None, efa: bool = False
) -> NodeGroup:
    return NodeGroup(
        name=name,
        role=role,
        instance_types=instance_types,
        partition=partition,
        efa=efa,
        hook=ParallelClusterHook.ON_NODE_CONFIGURED,
    )
