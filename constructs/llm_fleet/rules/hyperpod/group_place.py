"""Where a HyperPod cluster and its groups stand, and where their instances come from: subnets, plans, spot, checks."""

import re
from collections import Counter
from collections.abc import Sequence

from llm_fleet.catalog.hyperpod import cluster_limit, facts_of, group_limit
from llm_fleet.catalog.network import regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import DeepHealthCheck
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup


def check_cluster_network(cluster: PlacedCluster) -> list[Problem]:
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


def _check_override_has_vpc(cluster: PlacedCluster, group: InstanceGroup) -> list[Problem]:
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


_PLAN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):sagemaker:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):training-plan/[^/]+"
)


def check_training_plan(group: InstanceGroup) -> list[Problem]:
    """Check that the training plan is named by an ARN."""
    arn = group.training_plan_arn
    limit = group_limit("TrainingPlanArn")
    if arn is None or is_unresolved(arn) or (_PLAN.fullmatch(arn) and limit.holds(len(arn))):
        return []
    return [
        Problem(
            code=Code.TRAINING_PLAN_ARN,
            message="this is no ARN of a training plan",
            remedy="write the TrainingPlanArn that `aws sagemaker list-training-plans` shows",
            path=("training_plan_arn",),
            value=arn,
            allowed="arn:<partition>:sagemaker:<region>:<account>:training-plan/<name>",
        )
    ]


def check_training_plan_place(cluster: PlacedCluster, group: InstanceGroup) -> list[Problem]:
    """Check that the training plan is of the cluster's region, partition and account, and its AZ where it is told."""
    return [*_check_plan_arn_place(cluster, group), *_check_plan_zone(cluster, group)]


def check_spot(group: InstanceGroup) -> list[Problem]:
    """Check that spot capacity is not asked for beside reserved capacity."""
    if not group.spot or group.training_plan_arn is None:
        return []
    return [
        Problem(
            code=Code.SPOT_WITH_PLAN,
            message="the group asks for spot capacity and for that of a training plan, which is paid for already",
            remedy="drop spot to use the plan, or the plan to use spot",
            path=("spot",),
            value=True,
        )
    ]


def check_deep_health_checks(group: InstanceGroup) -> list[Problem]:
    """Check number and repetition of the deep health checks, and that the instances have something to check.

    AWS's tables of the checks name GPU and Trainium instances only (developer guide).
    """
    checks = group.deep_health_checks
    if not checks:
        return []
    return [
        *check_number(
            len(checks),
            group_limit("OnStartDeepHealthChecks"),
            Code.HEALTH_CHECK_NUMBER,
            "deep_health_checks",
            what="the number of deep health checks",
            remedy="name each of them once",
        ),
        *(_repeated_check(check, count) for check, count in Counter(checks).items() if count > 1),
        *(_nothing_to_check(name) for name in group.types if _has_no_accelerator(name)),
    ]


def _has_no_accelerator(instance_type: str) -> bool:
    facts = facts_of(instance_type)
    return facts is not None and facts.accelerator is None


def _repeated_check(check: DeepHealthCheck, count: int) -> Problem:
    return Problem(
        code=Code.HEALTH_CHECK_NUMBER,
        message=f"{check} stands {count} times among the deep health checks",
        remedy="name it once",
        path=("deep_health_checks",),
        value=str(check),
    )


def _nothing_to_check(instance_type: str) -> Problem:
    return Problem(
        code=Code.HEALTH_CHECK_TYPE,
        message=f"deep health checks test GPUs, Trainium and their network, and {instance_type} has none",
        remedy="drop them here; they belong to groups with accelerators",
        path=("deep_health_checks",),
        value=instance_type,
    )


def _check_plan_arn_place(cluster: PlacedCluster, group: InstanceGroup) -> list[Problem]:
    arn = group.training_plan_arn
    match = _PLAN.fullmatch(arn) if arn is not None and not is_unresolved(arn) else None
    if match is None:
        return []
    region = regions().get(cluster.region or "")
    expected = {
        "region": cluster.region,
        "account": cluster.account,
        "partition": region.partition if region else None,
    }
    return [
        Problem(
            code=Code.TRAINING_PLAN_ELSEWHERE,
            message=f"the training plan is of {what} {match[what]}, and the cluster of {wanted}",
            remedy=f"take a plan of {wanted}, or move the cluster"
            if what == "region"
            else f"take a plan of {what} {wanted}: plans are not shared",
            path=("training_plan_arn",),
            value=arn,
            allowed=f"{what} {wanted}",
        )
        for what, wanted in expected.items()
        if wanted is not None and not is_unresolved(wanted) and match[what] != wanted
    ]


def _check_plan_zone(cluster: PlacedCluster, group: InstanceGroup) -> list[Problem]:
    plan, own = group.training_plan_availability_zone_id, cluster.zone_of(group)
    if plan is None or own is None or is_unresolved((plan, own)) or plan == own:
        return []
    return [
        Problem(
            code=Code.TRAINING_PLAN_ZONE,
            message=f"the training plan is in {plan}, and the group in {own}, where the plan has no instances",
            remedy=f"put the group into {plan}; a file system that it mounts must be there too",
            path=("availability_zone_id",),
            value=own,
            allowed=plan,
        )
    ]
