"""Where the fleet file has what a rule of ParallelCluster found."""

from collections.abc import Collection
from dataclasses import replace

from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.config.parallelcluster.in_words import in_words
from llm_fleet.config.parallelcluster.view import FSX, HOME
from llm_fleet.rules.problem import PathPart, Problem

_OF_FLEET = {"mount_dir": "mount_path"}
"""What the rules ask of a shared storage, by what the fleet's own file systems call it."""


def in_file(problem: Problem, cluster: ParallelClusterConfig, volumes: Collection[str] = ()) -> Problem:
    """Return a problem of `cluster` by the attributes of the fleet: region and file systems are the fleet's.

    `volumes`: names of the volumes of the fleet's `home`.
    """
    problem = in_words(problem)
    first, *rest = problem.path or ("",)
    if first == "region":
        return problem
    if first == "shared_storage" and rest and rest[0] not in cluster.shared_storage:
        inner = [_OF_FLEET[str(part)] for part in rest[1:2] if part in _OF_FLEET]
        if rest[0] in (FSX, HOME):
            return replace(problem, path=("storage", rest[0], *inner))
        if rest[0] in volumes:
            return replace(problem, path=("storage", HOME, "volumes", rest[0], *inner))
    if first == "queues" and len(rest) > 1:
        problem = replace(problem, path=("queues", rest[0], *_in_queue(rest[1:], cluster, str(rest[0]))))
    if first == "cluster_name" and cluster.own_name is None:
        problem = replace(problem, path=("name",))
    return problem.under("clusters", cluster.name)


def _in_queue(path: list[PathPart], cluster: ParallelClusterConfig, name: str) -> list[PathPart]:
    """Return the path below a queue: one that says `type` itself has its compute resource's attributes."""
    queue = cluster.queues.get(name)
    if queue is None or path[0] != "compute_resources":
        return path
    inner: list[PathPart] = path[2:]
    resource = next((each for each in queue.compute_resources if path[1:2] == [each.name]), None)
    if resource is not None and inner[:1] == ["instance_types"]:
        inner = ["instance_types", *inner[1:]] if resource.instance_types else ["instance_type"]
    return [*path[:2], *inner] if queue.resources else inner
