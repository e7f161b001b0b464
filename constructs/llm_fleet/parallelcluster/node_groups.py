"""What the nodes of a cluster are called in their manifest, group by group."""

from llm_fleet.lifecycle.node_manifest import NodeGroup
from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.defaults import efa_of
from llm_fleet.rules.parallelcluster.release import is_unchecked
from llm_fleet.rules.terms import NodeType, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_nodes import LoginPool

HEAD_NODE = "HeadNode"


def pool_group(pool: LoginPool) -> str:
    """Return the group of the nodes of `pool`; a queue may have the pool's own name."""
    return f"LoginNodes-{pool.name}"


def node_groups(shape: ClusterShape) -> list[NodeGroup]:
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


def efa_clients(shape: ClusterShape) -> list[EfaClients]:
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
