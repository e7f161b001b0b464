"""What the groups of a HyperPod cluster do in Slurm, and how many instances each has."""

from llm_fleet.catalog.hyperpod import cluster_limit, group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.names import mend_hyphenated_name
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeProvisioningMode, NodeType
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup


def check_group_number(cluster: ClusterLike) -> list[Problem]:
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


def check_roles(cluster: ClusterLike) -> list[Problem]:
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


def check_min_counts_continuous(cluster: ClusterLike) -> list[Problem]:
    """Check that nobody asks for a minimum without Continuous provisioning, which brings all instances up or none."""
    if cluster.node_provisioning_mode is NodeProvisioningMode.CONTINUOUS:
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


def _named(cluster: ClusterLike, role: NodeType) -> list[str]:
    return [group.name for group in cluster.groups if group.node_type is role]


def _several(cluster: ClusterLike, role: NodeType, code: Code) -> list[Problem]:
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
