"""Where a HyperPod cluster stands: region, subnets, security groups."""

from collections.abc import Sequence

from llm_fleet.catalog.hyperpod import cluster_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup


def zone_of(cluster: ClusterLike, group: InstanceGroup) -> str | None:
    """Return the AZ id that the group stands in, or `None` when nobody told it."""
    if group.availability_zone_id is not None or group.subnets:
        return group.availability_zone_id
    return cluster.availability_zone_id


def check_cluster_network(cluster: ClusterLike) -> list[Problem]:
    """Check the number and form of the cluster's subnets and security groups, and that groups override what is there.

    A cluster that does not know its subnets or security groups yet has none of them to check.
    """
    return [
        *_check_ids("subnet_ids", "Subnets", cluster.subnet_ids),
        *_check_ids("security_group_ids", "SecurityGroupIds", cluster.security_group_ids),
        *(
            problem.under("groups", group.name)
            for group in cluster.groups
            for problem in _check_override_has_vpc(cluster, group)
        ),
    ]


def check_override(group: InstanceGroup) -> list[Problem]:
    """Check a group's own subnets and security groups: both or neither, and as many as HyperPod takes."""
    subnets, security_groups = group.subnet_ids, group.security_group_ids
    problems = [
        *_check_ids("subnets", "Subnets", subnets),
        *_check_ids("security_groups", "SecurityGroupIds", security_groups),
    ]
    if bool(subnets) != bool(security_groups):
        missing = "security_groups" if subnets else "subnets"
        problems.append(
            Problem(
                code=Code.OVERRIDE_INCOMPLETE,
                message="a group that leaves the cluster's network names both its subnets and its security groups",
                remedy="name the security groups too: each must allow all traffic to and from itself"
                if subnets
                else "name the subnets too, or drop the security groups",
                path=(missing,),
            )
        )
    return problems


def _check_override_has_vpc(cluster: ClusterLike, group: InstanceGroup) -> list[Problem]:
    if cluster.has_vpc or not (group.subnets or group.security_groups):
        return []
    return [
        Problem(
            code=Code.OVERRIDE_WITHOUT_VPC,
            message="a Slurm group can have subnets of its own only in a cluster that stands in a VPC of yours",
            remedy="give the cluster a network, or drop the group's subnets and security groups",
            path=("subnets",),
            value=list(group.subnet_ids),
        )
    ]


def _check_ids(attribute: str, field: str, ids: Sequence[str]) -> list[Problem]:
    if not ids:
        return []
    subnets = field == "Subnets"
    what = "subnet" if subnets else "security group"
    limit, member = cluster_limit(f"VpcConfig.{field}"), cluster_limit(f"VpcConfig.{field}[]")
    return [
        *check_number(
            len(ids),
            limit,
            Code.SUBNET_NUMBER if subnets else Code.SECURITY_GROUP_NUMBER,
            attribute,
            what=f"the number of {what}s",
            remedy="keep those of the AZs that the instances stand in"
            if subnets
            else "merge their rules into fewer security groups",
        ),
        *(
            Problem(
                code=Code.SUBNET_ID,
                message=f"this is no id of a {what}",
                remedy="write the id, not the name: 'subnet-…'" if subnets else "write the id, not the name: 'sg-…'",
                path=(attribute, index),
                value=one,
            )
            for index, one in enumerate(ids)
            if not is_unresolved(one)
            and not (member.matches(one) and member.holds(len(one)) and one.startswith("subnet-" if subnets else "sg-"))
        ),
    ]
