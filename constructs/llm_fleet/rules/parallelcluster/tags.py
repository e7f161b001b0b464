"""Tags of a cluster, its queues and its compute resources, which meet on every node."""

from collections.abc import Mapping

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

_OF_THE_PROVIDER = 1
"""`parallelcluster:custom_resource`, which AWS's CloudFormation provider adds to the cluster's."""


def check_tags(cluster: ClusterShape) -> list[Problem]:
    """Check keys and values of all tags, and how many come together on a node (ComputeResourceTagsValidator).

    Stricter by one: the tag of AWS's provider is counted, which it adds before the cluster is checked.
    """
    problems = _check_texts(cluster.tags, "tags")
    if not cluster.queues or not any(queue.compute_resources for queue in cluster.queues):
        return [*problems, *_check_number(set(cluster.tags), "tags")]
    for queue in cluster.queues:
        problems += _check_texts(queue.tags, "queues", queue.name, "tags")
        for resource in queue.compute_resources:
            here = ("queues", queue.name, "compute_resources", resource.name, "tags")
            problems += _check_texts(resource.tags, *here)
            problems += _check_number({*cluster.tags, *queue.tags, *resource.tags}, *here)
    return problems


def _check_texts(tags: Mapping[str, str], *path: PathPart) -> list[Problem]:
    return [problem for key, value in tags.items() for problem in _check_tag(key, value, *path, key)]


def _check_tag(key: str, value: str, *path: PathPart) -> list[Problem]:
    prefix = parallelcluster_limits().reserved_tag_prefix
    problems = [
        *check_keyed("Tags[]/Key", key, Code.PC_TAGS, *path, what="the tag's key"),
        *check_keyed("Tags[]/Value", value, Code.PC_TAGS, *path, what="the tag's value"),
    ]
    taken = next((start for start in (prefix, "aws:") if key.casefold().startswith(start)), None)
    if taken is not None and not is_unresolved(key):
        problems.append(
            Problem(
                code=Code.PC_TAGS,
                message=f"tags that begin with {taken!r} are {'AWS' if taken == 'aws:' else 'ParallelCluster'}'s own",
                remedy=f"write {key[len(taken) :]!r}",
                path=path,
                value=key,
            )
        )
    return problems


def _check_number(keys: set[str], *path: PathPart) -> list[Problem]:
    most = parallelcluster_limits().tags - _OF_THE_PROVIDER
    if len(keys) <= most:
        return []
    return [
        Problem(
            code=Code.PC_TAGS,
            message=f"{len(keys)} tags of the cluster, the queue and the compute resource together are "
            f"{len(keys) - most} too many",
            remedy="leave out the tags that no cost report or policy reads",
            path=path,
            value=len(keys),
            allowed=f"up to {most}; ParallelCluster and its provider add their own",
        )
    ]
