"""Software updates and patching of a HyperPod group, and its settings that CloudFormation does not support.

A schedule and automatic patching can both be given: assumption: hyperpod-schedule-with-automatic-patching

Sources of what CloudFormation supports: the resource schema that cfn-lint 1.58 ships, against botocore 1.44's model; a
test compares the two. A setting that was omitted silently would look as if it were in effect.
"""

from collections.abc import Iterator

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import CapacityUnit, DeepHealthCheck, PatchingStrategy
from llm_fleet.rules.values import CRON_EXAMPLE, check_number, cron_fault
from llm_fleet.spec.instance_group import AutoPatch, BatchSize, InstanceGroup, RollingUpdate

_DEPLOYMENT = "ScheduledUpdateConfig.DeploymentConfig"


def check_updates(group: InstanceGroup) -> list[Problem]:
    """Check the group's scheduled update and its automatic patching."""
    problems: list[Problem] = []
    if group.scheduled_update is not None:
        update = group.scheduled_update
        found = [*check_schedule(update.schedule_expression), *_check_deployment(update.deployment)]
        problems += [problem.under("scheduled_update") for problem in found]
    if group.auto_patch is not None:
        problems += [problem.under("auto_patch") for problem in check_auto_patch(group.auto_patch)]
    return problems


@rule
def check_schedule(expression: str) -> Iterator[Problem]:
    """Check a cron expression of six fields, as AWS defines it."""
    if is_unresolved(expression):
        return
    limit = group_limit("ScheduledUpdateConfig.ScheduleExpression")
    fault = cron_fault(expression)
    if fault is None and not limit.holds(len(expression)):
        fault = f"is {len(expression)} characters long"
    if fault is not None:
        yield Problem(
            code=Code.SCHEDULE,
            message=f"the schedule {fault}",
            remedy=f"write cron(minute hour day-of-month month day-of-week year), e.g. `{CRON_EXAMPLE}`, in UTC",
            path=("schedule_expression",),
            value=expression,
            allowed=f"{limit.range} characters",
        )


def check_auto_patch(patch: AutoPatch) -> list[Problem]:
    """Check the settings of automatic patching against its strategy."""
    return [
        *_check_deployment(patch.deployment),
        *_check_strategy(patch),
    ]


def _check_strategy(patch: AutoPatch) -> Iterator[Problem]:
    """Check that settings of waiting and draining match the strategy (API reference)."""
    drains = patch.strategy is PatchingStrategy.DRAIN_FIRST
    misplaced = {
        "idle_wait_window_seconds": drains and patch.idle_wait_window_seconds is not None,
        "drain_timeout_seconds": not drains and patch.drain_timeout_seconds is not None,
        "on_drain_timeout": not drains and patch.on_drain_timeout is not None,
    }
    right = "WhenIdle or WhenAllIdle" if drains else "DrainFirst"
    for attribute, wrong in misplaced.items():
        if wrong:
            yield Problem(
                code=Code.PATCH_IDLE_WINDOW if attribute.startswith("idle") else Code.PATCH_DRAIN,
                message=f"{attribute.replace('_', ' ')} has no effect with the strategy {patch.strategy}",
                remedy=f"remove it, or write strategy {right}",
                path=(attribute,),
                value=getattr(patch, attribute),
                allowed=f"only with {right}",
            )


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
            deployment.wrong(
                "maximum_batch_size",
                Code.BATCH_SIZE,
                "a rollback batch size requires a batch size of the update",
                "write the batch size of the update, too",
                value=None,
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
            message=f"a batch cannot be {batch.value} percent of the group",
            remedy="write 1 to 100, or a number of nodes",
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
            remedy="name fewer alarms, or one composite alarm",
        ),
        *(
            deployment.wrong(
                ("alarm_names", index),
                Code.ALARMS,
                "an alarm name is empty" if not name.strip() else f"an alarm name is {len(name)} characters long",
                "write the name of a CloudWatch alarm",
                allowed=f"{member.range} characters",
                value=name,
            )
            for index, name in enumerate(names)
            if not is_unresolved(name) and not member.fits(name)
        ),
    ]


def check_cloudformation(group: InstanceGroup) -> list[Problem]:
    """Return settings of `group` that CloudFormation does not support, by attribute: `("auto_patch", "strategy")`."""
    return list(_gaps(group))


def _gaps(group: InstanceGroup) -> Iterator[Problem]:
    if DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION in group.deep_health_checks:
        yield _gap(
            "deep_health_checks",
            value=DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION.value,
            remedy="remove it here and start it with `aws sagemaker start-cluster-health-check`",
        )
    if group.image_release_version is not None:
        yield _gap(
            "image_release_version",
            value=group.image_release_version,
            remedy="remove it here and set it with `aws sagemaker update-cluster-software`, or write an image_id",
        )
    if group.auto_patch is not None:
        yield from _gaps_of_patch(group.auto_patch)


def _gaps_of_patch(patch: AutoPatch) -> Iterator[Problem]:
    if patch.strategy is PatchingStrategy.DRAIN_FIRST:
        yield _gap(
            "auto_patch",
            "strategy",
            value=patch.strategy.value,
            remedy="DrainFirst is for EKS; on Slurm write WhenIdle or WhenAllIdle",
        )
    remedy = "remove it here and set it with `aws sagemaker update-cluster` after the deployment"
    for field, value in (
        ("next_patch_date", patch.next_patch_date),
        ("idle_wait_window_seconds", patch.idle_wait_window_seconds),
        ("drain_timeout_seconds", patch.drain_timeout_seconds),
        ("on_drain_timeout", patch.on_drain_timeout),
    ):
        if value is not None:
            yield _gap("auto_patch", field, value=value, remedy=remedy)


def _gap(*path: PathPart, value: object, remedy: str) -> Problem:
    return Problem(
        code=Code.CLUSTER_NOT_IN_CLOUDFORMATION,
        message=f"CloudFormation does not support this value of {path[-1]} on a Slurm cluster, although the "
        "HyperPod API may",
        path=path,
        value=value,
        remedy=remedy,
    )
