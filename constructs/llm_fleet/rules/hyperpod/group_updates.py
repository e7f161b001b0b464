"""How the software of a HyperPod group is updated and patched.

A schedule and automatic patching may both be given: assumption: hyperpod-schedule-with-automatic-patching
"""

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import CapacityUnit, PatchingStrategy
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import CRON_EXAMPLE, check_number, cron_fault
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, InstanceGroup, RollingUpdate

_DEPLOYMENT = "ScheduledUpdateConfig.DeploymentConfig"


def check_updates(group: InstanceGroup) -> list[Problem]:
    """Check the group's scheduled update and its automatic patching, where it has them."""
    problems: list[Problem] = []
    if group.scheduled_update is not None:
        update = group.scheduled_update
        found = [*check_schedule(update.schedule_expression), *_check_deployment(update.deployment)]
        problems += [problem.under("scheduled_update") for problem in found]
    if group.auto_patch is not None:
        problems += [problem.under("auto_patch") for problem in check_auto_patch(group.auto_patch)]
    return problems


def check_schedule(expression: str) -> list[Problem]:
    """Check a cron expression of AWS's six fields."""
    if is_unresolved(expression):
        return []
    limit = group_limit("ScheduledUpdateConfig.ScheduleExpression")
    fault = cron_fault(expression)
    if fault is None and not limit.holds(len(expression)):
        fault = f"is {len(expression)} characters long"
    if fault is None:
        return []
    return [
        Problem(
            code=Code.SCHEDULE,
            message=f"the schedule {fault}",
            remedy=f"write cron(minute hour day-of-month month day-of-week year), e.g. {CRON_EXAMPLE!r}, in UTC",
            path=("schedule_expression",),
            value=expression,
            allowed=f"{limit.range} characters",
        )
    ]


def check_auto_patch(patch: AutoPatch) -> list[Problem]:
    """Check the settings of automatic patching against its strategy."""
    return [
        *_check_deployment(patch.deployment),
        *_check_strategy(patch),
    ]


def _check_strategy(patch: AutoPatch) -> list[Problem]:
    """Check that waiting belongs to the strategies that wait, and draining to the one that drains (API reference)."""
    drains = patch.strategy is PatchingStrategy.DRAIN_FIRST
    misplaced = {
        "idle_wait_window_seconds": drains and patch.idle_wait_window_seconds is not None,
        "drain_timeout_seconds": not drains and patch.drain_timeout_seconds is not None,
        "on_drain_timeout": not drains and patch.on_drain_timeout is not None,
    }
    right = "WhenIdle or WhenAllIdle" if drains else "DrainFirst"
    return [
        Problem(
            code=Code.PATCH_IDLE_WINDOW if attribute.startswith("idle") else Code.PATCH_DRAIN,
            message=f"{attribute.replace('_', ' ')} means nothing to the strategy {patch.strategy}",
            remedy=f"drop it, or choose {right}",
            path=(attribute,),
            value=getattr(patch, attribute),
            allowed=f"with {right} only",
        )
        for attribute, wrong in misplaced.items()
        if wrong
    ]


def _check_deployment(deployment: RollingUpdate | None) -> list[Problem]:
    if deployment is None:
        return []
    first, back = deployment.maximum_batch_size, deployment.rollback_maximum_batch_size
    problems = [
        *_check_batch("maximum_batch_size", first),
        *_check_batch("rollback_maximum_batch_size", back),
        *_check_alarms(deployment),
    ]
    if back is not None and first is None:
        problems.append(
            Problem(
                code=Code.BATCH_SIZE,
                message="a batch size for rolling back needs one for going forward",
                remedy="give the batch size for going forward too",
                path=("maximum_batch_size",),
            )
        )
    return [problem.under("deployment") for problem in problems]


def _check_batch(attribute: str, batch: BatchSize | None) -> list[Problem]:
    if batch is None or is_unresolved(batch.value):
        return []
    limit = group_limit(f"{_DEPLOYMENT}.RollingUpdatePolicy.MaximumBatchSize.Value")
    problems = check_number(batch.value, limit, Code.BATCH_SIZE, attribute, "value", what="the size of a batch")
    if problems or batch.unit is not CapacityUnit.CAPACITY_PERCENTAGE or batch.value <= 100:
        return problems
    return [
        Problem(
            code=Code.BATCH_SIZE,
            message=f"a batch cannot be {batch.value} per cent of the group",
            remedy="write 1 to 100, or count instances instead",
            path=(attribute, "value"),
            value=batch.value,
            allowed="1 to 100",
        )
    ]


def _check_alarms(deployment: RollingUpdate) -> list[Problem]:
    names = deployment.alarm_names
    if not names:
        return []
    limit = group_limit(f"{_DEPLOYMENT}.AutoRollbackConfiguration")
    member = group_limit(f"{_DEPLOYMENT}.AutoRollbackConfiguration[].AlarmName")
    return [
        *check_number(
            len(names),
            limit,
            Code.ALARMS,
            "alarm_names",
            what="the number of alarms",
            remedy="watch fewer alarms, or one composite alarm of them all",
        ),
        *(
            Problem(
                code=Code.ALARMS,
                message="an alarm name is empty"
                if not name.strip()
                else f"an alarm name is {len(name)} characters long",
                remedy="write the name of a CloudWatch alarm",
                path=("alarm_names", index),
                value=name,
                allowed=f"{member.range} characters",
            )
            for index, name in enumerate(names)
            if not is_unresolved(name) and not (member.matches(name) and member.holds(len(name)))
        ),
    ]
