"""Names in a HyperPod cluster: of itself, its groups, its partitions, its tags."""

from collections import Counter
from collections.abc import Mapping
from unicodedata import category

from llm_fleet.catalog.hyperpod import cluster_limit, group_limit, hyperpod_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup


def check_cluster_name(name: str | None) -> list[Problem]:
    """Check `ClusterName`: 1 to 63 letters, digits and inner hyphens."""
    return check_hyphenated_name(
        name, cluster_limit("ClusterName"), Code.CLUSTER_NAME, "cluster_name", what="cluster name"
    )


def check_group_name(group: InstanceGroup) -> list[Problem]:
    """Check `InstanceGroupName`, of the same form."""
    limit = group_limit("InstanceGroupName")
    return check_hyphenated_name(group.name, limit, Code.GROUP_NAME, "name", what="instance group name")


def check_partition_name(group: InstanceGroup) -> list[Problem]:
    """Check the name of the group's partition: HyperPod's form, and not a word that slurm.conf or HyperPod uses."""
    name = group.partition
    if not name and group.node_type is NodeType.COMPUTE:  # `check_partition` tells that there is none.
        return []
    limit = group_limit("SlurmConfig.PartitionNames[]")
    problems = check_hyphenated_name(name, limit, Code.PARTITION_NAME, "partition", what="partition name")
    reserved = hyperpod_facts().reserved_partitions
    if not problems and name is not None and not is_unresolved(name) and name.casefold() in reserved:
        return [
            Problem(
                code=Code.PARTITION_NAME,
                message=f"the partition name is taken: {reserved[name.casefold()]}",
                remedy=f"name the partition after what it is for, e.g. {group.name!r}",
                path=("partition",),
                value=name,
            )
        ]
    return problems


def check_group_names_unique(cluster: ClusterLike) -> list[Problem]:
    """Check that no two groups have one name. Two groups may well share a partition."""
    counts = Counter(group.name for group in cluster.groups if not is_unresolved(group.name))
    return [
        Problem(
            code=Code.GROUP_NAME_TWICE,
            message=f"{count} instance groups are called {name!r}",
            remedy=f"give each a name of its own, e.g. {name + '-2'!r} to the second",
            path=("groups", name, "name"),
            value=name,
        )
        for name, count in counts.items()
        if count > 1
    ]


def check_tags(tags: Mapping[str, str]) -> list[Problem]:
    """Check the number of `tags`, their keys and their values."""
    limit = cluster_limit("Tags")
    problems = [problem for key, value in tags.items() for problem in _check_tag(key, value)]
    if not limit.holds(len(tags)):
        problems.append(
            Problem(
                code=Code.TAG_NUMBER,
                message=f"{len(tags)} tags are {len(tags) - (limit.maximum or 0)} too many",
                remedy="leave out the tags that no cost report or policy reads",
                path=("tags",),
                value=len(tags),
                allowed=limit.range,
            )
        )
    return problems


def _check_tag(key: str, value: str) -> list[Problem]:
    problems = [
        *_check_tag_text(key, key, "Key", Code.TAG_KEY),
        *_check_tag_text(value, key, "Value", Code.TAG_VALUE),
    ]
    if key.casefold().startswith("aws:"):
        problems.append(
            Problem(
                code=Code.TAG_KEY,
                message=f"the tag key {key!r} begins with 'aws:', which only AWS itself may write",
                remedy=f"write {key[len('aws:') :]!r}",
                path=("tags", key),
                value=key,
            )
        )
    return problems


def _check_tag_text(text: str, key: str, part: str, code: Code) -> list[Problem]:
    if is_unresolved(text):
        return []
    limit = cluster_limit(f"Tags[].{part}")
    wrong = sorted({character for character in text if not _in_tag(character)})
    if limit.holds(len(text)) and not wrong:
        return []
    fault = f"holds {', '.join(map(repr, wrong))}" if wrong else f"is {len(text)} characters long"
    return [
        Problem(
            code=code,
            message=f"the {part.lower()} of the tag {key!r} {fault}",
            remedy="use letters, digits, spaces and _ . : / = + - @" if wrong else "make it shorter or say something",
            path=("tags", key),
            value=text,
            allowed=f"{limit.range} characters",
        )
    ]


def _in_tag(character: str) -> bool:
    """Whether AWS's pattern `[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]` has `character`; Python's `re` cannot say `\\p`."""
    return category(character)[0] in "LZN" or character in "_.:/=+-@"
