"""Names in a cluster of ParallelCluster: of itself and of its queues, compute resources and login pools."""

import re
from collections import Counter
from collections.abc import Iterable

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.accounting import keeps_records
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.identity import HASH_SUFFIX_LENGTH
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import Queue


def check_cluster_name(cluster: ClusterShape) -> list[Problem]:
    """Check the name, which must leave room for the hash behind it; shorter with accounting (ClusterNameValidator)."""
    name = cluster.cluster_name
    if is_unresolved(name):
        return []
    limits = parallelcluster_limits()
    accounting = keeps_records(cluster.accounting)
    longest = (limits.cluster_name_accounting if accounting else limits.cluster_name.maximum) or 0
    longest -= HASH_SUFFIX_LENGTH
    faults: list[str] = []
    if not limits.cluster_name.matches(name):
        faults.append("is not of letters, digits and hyphens with a letter first")
    if len(name) > longest:
        faults.append(f"is {len(name)} characters long, {len(name) - longest} too many")
    if not faults:
        return []
    mended = re.sub(r"[^a-zA-Z0-9-]+", "-", name).lstrip("0123456789-")[:longest].rstrip("-")
    why = "; Slurm's tables in the database begin with it" if accounting else ""
    return [
        Problem(
            code=Code.PC_CLUSTER_NAME,
            message=f"the cluster name {' and '.join(faults)}",
            remedy=f"write {mended!r}" if mended else "give the cluster a name that begins with a letter",
            path=("cluster_name",),
            value=name,
            allowed=f"1 to {longest} letters, digits and hyphens, a letter first; "
            f"{HASH_SUFFIX_LENGTH} more are taken by the hash that tells a new cluster from the old{why}",
        )
    ]


def check_part_name(name: str, *, what: str) -> list[Problem]:
    """Check the name of a queue, compute resource or login pool: it becomes part of host names (NameValidator)."""
    if is_unresolved(name):
        return []
    limits = parallelcluster_limits()
    limit = limits.part_name
    faults: list[str] = []
    if not limit.matches(name):
        faults.append("is not of lower-case letters, digits and hyphens with a letter first")
    if len(name) > (limit.maximum or 0):
        faults.append(f"is {len(name)} characters long, {len(name) - (limit.maximum or 0)} too many")
    if name in limits.reserved_names:
        faults.append("is taken: Slurm reads it as the default of all others")
    if not faults:
        return []
    mended = mend_part_name(name)
    return [
        Problem(
            code=Code.PC_NAME,
            message=f"the {what} name {' and '.join(faults)}",
            remedy=f"write {mended!r}" if mended else f"give the {what} a name that begins with a letter",
            path=("name",),
            value=name,
            allowed=f"up to {limit.maximum} lower-case letters, digits and hyphens, a letter first; "
            f"not {', '.join(map(repr, limits.reserved_names))}",
        )
    ]


def mend_part_name(name: str) -> str:
    """Return the legal name most like `name`; empty when nothing of it can stay."""
    limits = parallelcluster_limits()
    mended = re.sub(r"[^a-z0-9-]+", "-", name.lower()).lstrip("0123456789-")[: limits.part_name.maximum].rstrip("-")
    return f"{mended}-queue" if mended in limits.reserved_names else mended


def check_names_unique(cluster: ClusterShape) -> list[Problem]:
    """Check that no two queues, login pools or shared storages have one name (DuplicateNameValidator)."""
    return [
        *_twice((queue.name for queue in cluster.queues), "queues", what="queues"),
        *_twice((pool.name for pool in cluster.login_pools), "login_pools", what="login pools"),
        *_twice((storage.name for storage in cluster.shared_storage), "shared_storage", what="shared storages"),
    ]


def check_resource_names_unique(queue: Queue) -> list[Problem]:
    """Check that no two compute resources of a queue have one name (DuplicateNameValidator)."""
    return _twice(
        (resource.name for resource in queue.compute_resources), "compute_resources", what="compute resources"
    )


def _twice(names: Iterable[str], *path: PathPart, what: str) -> list[Problem]:
    counts = Counter(name for name in names if not is_unresolved(name))
    return [
        Problem(
            code=Code.PC_NAME_TWICE,
            message=f"{count} {what} are called {name!r}",
            remedy=f"give each a name of its own, e.g. {mend_part_name(name)[:23] + '-2'!r} to the second",
            path=(*path, name, "name"),
            value=name,
        )
        for name, count in counts.items()
        if count > 1
    ]
