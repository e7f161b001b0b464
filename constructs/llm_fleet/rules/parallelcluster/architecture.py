"""Processor architecture: the head node's is that of all nodes, which mount its programs."""

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

_EXAMPLES = {"x86_64": "m5.2xlarge", "arm64": "m7g.2xlarge"}


def check_architecture(cluster: ClusterShape) -> list[Problem]:
    """Check that queues and login pools are of the head node's architecture.

    ParallelCluster checks queues (InstanceArchitectureCompatibilityValidator); login pools only against their image,
    which is of the head node's architecture unless they have one of their own.
    """
    head = _architecture(cluster.head_node.instance_type)
    if head is None:
        return []
    return [
        *(
            problem
            for queue in cluster.queues
            for resource in queue.compute_resources
            for index, name in enumerate(resource.types)
            for problem in _check_same(
                head, name, "queues", queue.name, "compute_resources", resource.name, "instance_types", index
            )
        ),
        *(
            problem
            for pool in cluster.login_pools
            for problem in _check_same(head, pool.instance_type, "login_pools", pool.name, "instance_type")
        ),
    ]


def _check_same(head: str, name: str, *path: PathPart) -> list[Problem]:
    own = _architecture(name)
    if own is None or own == head:
        return []
    return [
        Problem(
            code=Code.PC_ARCHITECTURE,
            message=f"{name} is {own}, and the head node, whose Slurm all nodes run, is {head}",
            remedy=_remedy(head, own),
            path=path,
            value=name,
            allowed=head,
        )
    ]


def _remedy(head: str, own: str) -> str:
    """ParallelCluster has no operating system for Mac instances, whose architectures have no example."""
    here = f"an instance type of {head if head in _EXAMPLES else ' or '.join(_EXAMPLES)} here"
    return f"take a head node of {own}, e.g. {_EXAMPLES[own]!r}, or {here}" if own in _EXAMPLES else f"take {here}"


def _architecture(name: str) -> str | None:
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    return None if facts is None else facts.architecture
