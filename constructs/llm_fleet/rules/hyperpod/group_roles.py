"""What the groups of a HyperPod cluster are called and do in Slurm, and how many instances each has."""

from collections import Counter
from collections.abc import Mapping
from unicodedata import category

from llm_fleet.catalog.hyperpod import cluster_limit, group_limit, hyperpod_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeProvisioningMode, NodeType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_hyphenated_name, check_number, mend_hyphenated_name
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
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


def check_group_names_unique(cluster: PlacedCluster) -> list[Problem]:
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


def check_group_number(cluster: PlacedCluster) -> list[Problem]:
    """Check that there are 1 to 100 groups."""
    limit = cluster_limit("InstanceGroups")
    return check_number(
        len(cluster.groups),
        limit,
        Code.GROUP_NUMBER,
        "groups",
        what="the number of instance groups",
        remedy="put instances that are alike into one group"
        if cluster.groups
        else "give the cluster a controller group",
    )


def check_roles(cluster: PlacedCluster) -> list[Problem]:
    """Check that there is exactly one controller group, and one login group at most."""
    if not cluster.groups:  # `check_group_number` tells it.
        return []
    controllers = _named(cluster, NodeType.CONTROLLER)
    if not controllers:
        return [
            Problem(
                code=Code.CONTROLLER_MISSING,
                message="no group is the controller, so nothing would run slurmctld",
                remedy="add one group with the role controller, e.g. one ml.m5.xlarge",
                path=("groups",),
                allowed="exactly one controller group",
            ),
            *_several(cluster, NodeType.LOGIN, Code.LOGIN_TWICE),
        ]
    return [
        *_several(cluster, NodeType.CONTROLLER, Code.CONTROLLER_TWICE),
        *_several(cluster, NodeType.LOGIN, Code.LOGIN_TWICE),
    ]


def check_controller_count(group: InstanceGroup) -> list[Problem]:
    """Check that the controller group has one instance.

    Several head nodes need the legacy configuration by provisioning_parameters.json, which llm-fleet does not write,
    and never go with Continuous provisioning (developer guide).
    """
    if group.node_type is not NodeType.CONTROLLER or is_unresolved(group.count) or group.count == 1:
        return []
    if check_counts(group):  # No number of instances for any group, which is told already.
        return []
    return [
        Problem(
            code=Code.CONTROLLER_COUNT,
            message=f"the controller group has {group.count} instances; one instance runs slurmctld",
            remedy="write 1; several head nodes do not go with the way in which HyperPod configures Slurm here",
            path=("count",),
            value=group.count,
            allowed="1",
        )
    ]


def check_partition(group: InstanceGroup) -> list[Problem]:
    """Check that compute groups have a partition, and only they."""
    if group.node_type is NodeType.COMPUTE and not group.partition:
        limit = group_limit("SlurmConfig.PartitionNames[]")
        return [
            Problem(
                code=Code.PARTITION_MISSING,
                message="a compute group needs a partition, else no job can be sent to it",
                remedy=f"write a partition, e.g. {mend_hyphenated_name(group.name, limit) or 'workers'!r}",
                path=("partition",),
                value=group.partition,
            )
        ]
    if group.node_type is not NodeType.COMPUTE and group.partition is not None:
        return [
            Problem(
                code=Code.PARTITION_MISPLACED,
                message=f"a {group.node_type.lower()} group cannot have a partition: only compute groups have one",
                remedy="drop the partition here; write it on a compute group",
                path=("partition",),
                value=group.partition,
                allowed="a partition on compute groups only",
            )
        ]
    return []


def check_counts(group: InstanceGroup) -> list[Problem]:
    """Check the number of instances and the minimum."""
    problems = [
        *check_number(group.count, group_limit("InstanceCount"), Code.INSTANCE_COUNT, "count", what="the count"),
        *check_number(
            group.min_count, group_limit("MinInstanceCount"), Code.MIN_COUNT, "min_count", what="the minimum count"
        ),
    ]
    if problems or group.min_count is None or is_unresolved((group.count, group.min_count)):
        return problems
    if group.min_count <= group.count:
        return []
    return [
        Problem(
            code=Code.MIN_COUNT_ABOVE_COUNT,
            message=f"the minimum of {group.min_count} is above the count of {group.count}, so it can never be met",
            remedy=f"write {group.count} or less, or raise the count to {group.min_count}",
            path=("min_count",),
            value=group.min_count,
            allowed=f"0 to {group.count}",
        )
    ]


def check_min_counts_continuous(cluster: PlacedCluster) -> list[Problem]:
    """Check that nobody asks for a minimum without Continuous provisioning, which brings all instances up or none."""
    if cluster.spec.node_provisioning_mode is NodeProvisioningMode.CONTINUOUS:
        return []
    return [
        Problem(
            code=Code.MIN_COUNT_NOT_CONTINUOUS,
            message="a minimum count works only with Continuous provisioning; without it all instances come up or none",
            remedy="set provisioning to Continuous, or drop the minimum",
            path=("groups", group.name, "min_count"),
            value=group.min_count,
        )
        for group in cluster.groups
        if group.min_count is not None
    ]


def _named(cluster: PlacedCluster, role: NodeType) -> list[str]:
    return [group.name for group in cluster.groups if group.node_type is role]


def _several(cluster: PlacedCluster, role: NodeType, code: Code) -> list[Problem]:
    names = _named(cluster, role)
    if len(names) < 2:
        return []
    word = role.lower()
    kept = ", ".join(map(repr, names))
    return [
        Problem(
            code=code,
            message=f"{len(names)} groups have the role {word}: {kept}",
            remedy=f"keep {names[0]!r} as {word} and make the rest compute groups"
            + ("" if role is NodeType.CONTROLLER else f", or raise the count of {names[0]!r}"),
            path=("groups", names[1], "node_type"),
            value=names,
            allowed=f"exactly one {word} group" if role is NodeType.CONTROLLER else f"at most one {word} group",
        )
    ]
