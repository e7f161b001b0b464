"""Which cluster and partition a job runs on."""

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.jobs.job import JobConfig
from llm_fleet.config.jobs.partitions import Cluster, Found, partitions_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem


def find_partition(job: JobConfig, fleet: Fleet) -> Found | Problem:
    """Return where `job` runs, or why that is not known, by its attribute names."""
    cluster = find_cluster(job, fleet)
    if isinstance(cluster, Problem):
        return cluster
    found = partitions_of(fleet, cluster)
    if not found:
        return _wrong(f"the cluster {cluster.cluster_name} has no nodes that run jobs", "give it some", job)
    names = [each.name for each in found]
    if job.partition is None:
        return _usable(found[0], job) if len(found) == 1 else _several(names, cluster, job)
    chosen = next((each for each in found if each.name == job.partition), None)
    return _unknown(job.partition, names, cluster) if chosen is None else _usable(chosen, job)


def find_cluster(job: JobConfig, fleet: Fleet) -> Cluster | Problem:
    """Return the cluster that `job` names, or the only one."""
    names = list(fleet.clusters)
    if job.cluster is None:
        if len(names) == 1:
            return fleet.clusters[names[0]]
        said = f"there are {len(names)} clusters, and nobody told on which" if names else "there is no cluster for it"
        return Problem(
            code=Code.MISSING_KEY,
            message=said,
            remedy=f"add `cluster: {names[0]}`, or another one" if names else "add one under `clusters`",
            path=("cluster",),
            allowed=", ".join(names),
        )
    if job.cluster in names:
        return fleet.clusters[job.cluster]
    return Problem(
        code=Code.UNKNOWN_REFERENCE,
        message=f"there is no cluster {job.cluster!r} under `clusters`",
        remedy=did_you_mean(job.cluster, names, otherwise=f"write {names[0]!r}" if names else "add it there"),
        path=("cluster",),
        value=job.cluster,
        allowed=", ".join(names),
    )


def _usable(found: Found, job: JobConfig) -> Found | Problem:
    if len(found.instance_types) == 1:
        return found
    types = ", ".join(found.instance_types)
    return _wrong(
        f"the nodes of {found.name} may be of several types ({types}), and nobody can say what fits all of them",
        "take a partition of one instance type",
        job,
    )


def _several(names: list[str], cluster: Cluster, job: JobConfig) -> Problem:
    return _wrong(
        f"the cluster {cluster.cluster_name} has several partitions, and nobody told which",
        f"add `partition: {names[0]}`, or another one",
        job,
        allowed=", ".join(names),
    )


def _unknown(partition: str, names: list[str], cluster: Cluster) -> Problem:
    group = cluster.by_name.get(partition) if isinstance(cluster, HyperPodConfig) else None
    what = "partition" if isinstance(cluster, HyperPodConfig) else "queue"
    message = f"the cluster {cluster.cluster_name} has no {what} {partition!r}"
    remedy = did_you_mean(partition, names, otherwise=f"write {names[0]!r}")
    if group is not None:
        message = f"{partition!r} is a group of role {group.node_type.lower()}, and no partition"
        remedy = f"write {group.partition or names[0]!r}"
    return Problem(
        code=Code.JOB_PARTITION if group is not None else Code.UNKNOWN_REFERENCE,
        message=message,
        remedy=remedy,
        path=("partition",),
        value=partition,
        allowed=", ".join(names),
    )


def _wrong(message: str, remedy: str, job: JobConfig, *, allowed: str = "") -> Problem:
    return Problem(
        code=Code.JOB_PARTITION,
        message=message,
        remedy=remedy,
        path=("partition",) if job.partition is not None or allowed else ("cluster",),
        value=job.partition,
        allowed=allowed,
    )
