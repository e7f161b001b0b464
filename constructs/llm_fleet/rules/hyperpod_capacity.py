"""Where the instances of a HyperPod group come from, and what they must pass: plans, spot, deep health checks."""

import re
from collections import Counter

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.catalog.instances import facts_of
from llm_fleet.catalog.network import regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_network import zone_of
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import DeepHealthCheck
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup

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


def check_training_plan_place(cluster: ClusterLike, group: InstanceGroup) -> list[Problem]:
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


def _check_plan_arn_place(cluster: ClusterLike, group: InstanceGroup) -> list[Problem]:
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


def _check_plan_zone(cluster: ClusterLike, group: InstanceGroup) -> list[Problem]:
    plan, own = group.training_plan_availability_zone_id, zone_of(cluster, group)
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
