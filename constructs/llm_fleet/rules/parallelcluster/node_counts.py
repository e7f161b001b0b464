"""Numbers of nodes, of queues and of what is in them; memory for jobs; the head node's memory."""

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource

_RESOURCE = "Scheduling/SlurmQueues[]/ComputeResources[]"
_MIB_PER_GIB = 1024


def check_counts(resource: ComputeResource) -> list[Problem]:
    """Check the numbers of nodes (ComputeResourceSizeValidator) and the priorities of nodes."""
    least, most = resource.min_count, resource.max_count
    problems = [
        *check_keyed(f"{_RESOURCE}/MinCount", least, Code.PC_NODE_COUNT, "min_count", what="the number of nodes"),
        *check_keyed(f"{_RESOURCE}/MaxCount", most, Code.PC_NODE_COUNT, "max_count", what="the number of nodes"),
        *check_keyed(
            f"{_RESOURCE}/StaticNodePriority",
            resource.static_node_priority,
            Code.PC_NODE_PRIORITY,
            "static_node_priority",
            what="the priority",
        ),
        *check_keyed(
            f"{_RESOURCE}/DynamicNodePriority",
            resource.dynamic_node_priority,
            Code.PC_NODE_PRIORITY,
            "dynamic_node_priority",
            what="the priority",
        ),
    ]
    if problems or is_unresolved((least, most)) or least <= most:
        return problems
    return [
        Problem(
            code=Code.PC_NODE_COUNT,
            message=f"{least} nodes always run, and only {most} may run at most",
            remedy=f"write {least} or more as max_count, or {most} or fewer as min_count",
            path=("min_count",),
            value=least,
            allowed=f"0 to {most}",
        )
    ]


def check_memory(resource: ComputeResource) -> list[Problem]:
    """Check that jobs are not offered more memory than the smallest type has (SchedulableMemoryValidator)."""
    memory = resource.schedulable_memory_mib
    if memory is None or is_unresolved(memory):
        return []
    known = [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]
    smallest = min(known, key=lambda facts: facts.memory_gib, default=None)
    most = None if smallest is None else int(smallest.memory_gib * _MIB_PER_GIB)
    if memory >= 1 and (most is None or memory <= most):
        return []
    has = f", and {smallest.name} has {most} MiB" if smallest and most is not None else ""
    return [
        Problem(
            code=Code.PC_SCHEDULABLE_MEMORY,
            message=f"jobs are to have {memory} MiB of a node's memory{has}",
            remedy=f"leave it out, which offers 95 %, or write {most * 95 // 100 if most else 1} MiB",
            path=("schedulable_memory_mib",),
            value=memory,
            allowed=f"1 to {most} MiB" if most else "1 MiB or more",
        )
    ]


def check_queue_number(cluster: ClusterShape) -> list[Problem]:
    """Check the number of queues, of compute resources in all of them, and of login pools (MaxCountValidator)."""
    limits = parallelcluster_limits()
    resources = sum(len(queue.compute_resources) for queue in cluster.queues)
    return [
        *_check_number(len(cluster.queues), limits.queues, Code.PC_QUEUE_NUMBER, "queues", what="queues"),
        *_check_number(
            # Too many queues have too many compute resources for that alone.
            resources if limits.queues.holds(len(cluster.queues)) else 1,
            limits.compute_resources,
            Code.PC_RESOURCE_NUMBER,
            "queues",
            what="compute resources in all",
        ),
        *_check_number(
            len(cluster.login_pools),
            limits.login_pools,
            Code.PC_POOL_NUMBER,
            "login_pools",
            what="login pools",
            remedy="let one pool have more nodes",
        ),
    ]


def check_head_memory(cluster: ClusterShape) -> list[Problem]:
    """Check that the head node has memory for all nodes together (HeadNodeMemorySizeValidator)."""
    name = cluster.head_node.instance_type
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    counts = [resource.max_count for queue in cluster.queues for resource in queue.compute_resources]
    if facts is None or is_unresolved(counts):
        return []
    limits, nodes = parallelcluster_limits(), sum(counts)
    needed = min(nodes / limits.nodes_per_gib + limits.head_base_gib, limits.head_most_gib)
    if facts.memory_gib >= needed:
        return []
    return [
        Problem(
            code=Code.PC_HEAD_MEMORY,
            message=f"{name} has {facts.memory_gib:g} GiB of memory, and {nodes} nodes need {needed:.1f} GiB of the "
            "head node",
            remedy="take a head node with more memory, e.g. 'm5.2xlarge' (32 GiB) or 'm7g.2xlarge' on arm64",
            path=("head_node", "instance_type"),
            value=name,
            allowed=f"{needed:.1f} GiB or more",
        )
    ]


def _check_number(
    number: int,
    limit: Limit,
    code: Code,
    *path: str,
    what: str,
    remedy: str = "put several instance types into one compute resource, or make a second cluster",
) -> list[Problem]:
    if limit.holds(number):
        return []
    many = number > (limit.maximum or number)
    return [
        Problem(
            code=code,
            message=f"{number} {what} are {number - (limit.maximum or 0)} too many" if many else f"there are no {what}",
            remedy=remedy if many else f"add at least {limit.minimum}",
            path=path,
            value=number,
            allowed=limit.range,
        )
    ]
