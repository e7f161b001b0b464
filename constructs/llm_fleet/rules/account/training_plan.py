"""Whether a training plan of SageMaker gives a group of HyperPod, or a job, its instances."""

from dataclasses import dataclass
from datetime import datetime

from llm_fleet.rules.account.capacity import WARNED_BEFORE, CapacityNeed, when
from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import Problem

_GOOD = ("Active", "Scheduled")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What DescribeTrainingPlan says."""

    name: str
    status: str
    start: datetime | None = None
    end: datetime | None = None
    zones: tuple[str, ...] = ()
    """AZ ids of its reserved capacity."""
    instance_types: tuple[str, ...] = ()
    available: int | None = None
    """Instances that nobody uses."""
    total: int | None = None
    targets: tuple[str, ...] = ()
    """What it was bought for, e.g. `hyperpod-cluster`."""


def check_training_plan(plan: TrainingPlan, need: CapacityNeed, *, now: datetime, target: str) -> list[Problem]:
    """Return everything that keeps `need` from running on `plan` now. `target`: its use, e.g. `hyperpod-cluster`."""
    if plan.status not in _GOOD:
        return [_status(plan, need)]
    return [*_time(plan, need, now), *_zone(plan, need), *_kind(plan, need, target), *_count(plan, need)]


def _status(plan: TrainingPlan, need: CapacityNeed) -> Problem:
    return Problem(
        code=CheckCode.PLAN_STATUS,
        path=need.path,
        message=f"the training plan {plan.name} of {need.owner} is {plan.status}, and gives no capacity",
        value=plan.status,
        allowed=" or ".join(_GOOD),
        remedy="wait until it is active: it is being paid or set up"
        if plan.status == "Pending"
        else "buy another with `aws sagemaker search-training-plan-offerings` and `create-training-plan`, and name it",
    )


def _time(plan: TrainingPlan, need: CapacityNeed, now: datetime) -> list[Problem]:
    if plan.end is not None and plan.end - now < WARNED_BEFORE:
        over = "ended" if plan.end <= now else "ends"
        return [
            Problem(
                code=CheckCode.PLAN_TIME,
                path=need.path,
                message=f"the training plan {plan.name} of {need.owner} {over} at {when(plan.end)}, and its "
                "instances go with it",
                value=when(plan.end),
                remedy="buy one that lasts longer, or extend this one with `aws sagemaker extend-training-plan`, and "
                "save checkpoints before it ends",
            )
        ]
    if plan.start is not None and plan.start > now:
        return [
            Problem(
                code=CheckCode.PLAN_TIME,
                path=need.path,
                message=f"the training plan {plan.name} of {need.owner} begins at {when(plan.start)} only",
                value=when(plan.start),
                remedy="deploy after that, or leave the group at `min_count: 0` until then: with Continuous "
                "provisioning its nodes come when the plan begins",
            )
        ]
    return []


def _zone(plan: TrainingPlan, need: CapacityNeed) -> list[Problem]:
    if need.zone is None or not plan.zones or need.zone in plan.zones:
        return []
    zones = ", ".join(plan.zones)
    return [
        Problem(
            code=CheckCode.PLAN_ZONE,
            path=need.path,
            message=f"the training plan {plan.name} has its instances in {zones}, and {need.owner} stands in "
            f"{need.zone}",
            value=need.zone,
            allowed=zones,
            remedy=f"put it into {zones} with `az`; a file system that it mounts must be there too",
        )
    ]


def _kind(plan: TrainingPlan, need: CapacityNeed, target: str) -> list[Problem]:
    found: list[Problem] = []
    if plan.instance_types and not set(plan.instance_types) & set(need.instance_types):
        types = ", ".join(plan.instance_types)
        found.append(
            Problem(
                code=CheckCode.PLAN_TYPE,
                path=need.path,
                message=f"the training plan {plan.name} is of {types}, and {need.owner} asks for "
                f"{', '.join(need.instance_types)}",
                value=need.instance_types[0] if need.instance_types else None,
                allowed=types,
                remedy=f"write `type: {plan.instance_types[0]}`, or name another plan",
            )
        )
    if plan.targets and target not in plan.targets:
        found.append(
            Problem(
                code=CheckCode.PLAN_TYPE,
                path=need.path,
                message=f"the training plan {plan.name} was bought for {', '.join(plan.targets)}, and {need.owner} is "
                f"a {target}",
                value=", ".join(plan.targets),
                allowed=target,
                remedy=f"buy one whose target resource is {target}: a plan's use cannot be changed",
            )
        )
    return found


def _count(plan: TrainingPlan, need: CapacityNeed) -> list[Problem]:
    if plan.available is None or need.count <= plan.available or plan.status == "Scheduled":
        return []
    return [
        Problem(
            code=CheckCode.PLAN_COUNT,
            path=need.path,
            message=f"{need.owner} takes {need.count} more instances of the training plan {plan.name}, which has "
            f"{plan.available} free of {plan.total}",
            value=need.count,
            allowed=f"up to {plan.available}",
            remedy=f"write `count: {plan.available}` or less, free instances in another cluster, or buy a larger plan",
        )
    ]
