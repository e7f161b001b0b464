"""Host names of compute nodes, which are made of all the names that a user gives."""

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.identity import HASH_SUFFIX_LENGTH
from llm_fleet.rules.parallelcluster.names import check_cluster_name
from llm_fleet.rules.parallelcluster.overridden import section
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_DOMAIN = ".pcluster"
_LONGEST = 63
"""Characters of host and domain: with more, the bootstrap of libfabric and of the Neuron runtime makes no connection,
and our nodes refuse to start (LFN42)."""


def check_host_names(cluster: ClusterShape) -> list[Problem]:
    """Check that `<queue>-st-<compute resource>-<number>.<cluster>-<hash>.pcluster` fits into a host name.

    Stricter: ParallelCluster bounds each name, not their sum. With `Dns` of one's own (in the overrides of Slurm) the
    names are others, and nothing is known of them.
    """
    if section(cluster.slurm.overrides, "Dns") or is_unresolved(cluster.cluster_name) or check_cluster_name(cluster):
        return []
    domain = len(cluster.cluster_name) + HASH_SUFFIX_LENGTH + len(_DOMAIN) + len(".")
    problems: list[Problem] = []
    for queue in cluster.queues:
        for resource in queue.compute_resources:
            if is_unresolved((queue.name, resource.name, resource.max_count)) or _is_refused(queue.name, resource.name):
                continue
            length = len(f"{queue.name}-st-{resource.name}-{resource.max_count}") + domain
            if length > _LONGEST:
                problems.append(_too_long(queue.name, resource.name, length))
    return problems


def _is_refused(*names: str) -> bool:
    """Whether a name is too long by itself, which has its own problem."""
    return any(len(name) > (parallelcluster_limits().part_name.maximum or 0) for name in names)


def _too_long(queue: str, resource: str, length: int) -> Problem:
    return Problem(
        code=Code.PC_HOST_NAME,
        message=f"nodes are called '{queue}-st-{resource}-1.<cluster>-<hash>{_DOMAIN}', {length - _LONGEST} characters "
        "more than a host name has",
        remedy=f"shorten the names of the cluster, the queue or the compute resource by {length - _LONGEST} characters",
        path=("queues", queue, "compute_resources", resource, "name"),
        value=resource,
        allowed=f"up to {_LONGEST} characters in all, with {HASH_SUFFIX_LENGTH} of the hash and {len(_DOMAIN)} of the "
        "domain",
    )
