"""Updates and patches as properties of `AWS::SageMaker::Cluster`."""

from typing import Any

from llm_fleet.spec.instance_group import AutoPatch, BatchSize, RollingUpdate, ScheduledUpdate


def render_scheduled_update(update: ScheduledUpdate) -> dict[str, Any]:
    """Return `ScheduledUpdateConfig`, in the L1's spelling."""
    rendered: dict[str, Any] = {"scheduleExpression": update.schedule_expression}
    if update.deployment is not None:
        rendered["deploymentConfig"] = _deployment(update.deployment)
    return rendered


def render_auto_patch(patch: AutoPatch) -> dict[str, Any]:
    """Return `AutoPatchConfig`, in the L1's spelling, without what CloudFormation cannot say."""
    rendered: dict[str, Any] = {"patchingStrategy": patch.strategy.value}
    if patch.deployment is not None:
        rendered["deploymentConfig"] = _deployment(patch.deployment)
    return rendered


def _deployment(update: RollingUpdate) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    if update.maximum_batch_size is not None:
        policy = {"maximumBatchSize": _batch(update.maximum_batch_size)}
        if update.rollback_maximum_batch_size is not None:
            policy["rollbackMaximumBatchSize"] = _batch(update.rollback_maximum_batch_size)
        rendered["rollingUpdatePolicy"] = policy
    if update.wait_interval_seconds is not None:
        rendered["waitIntervalInSeconds"] = update.wait_interval_seconds
    if update.alarm_names:
        rendered["autoRollbackConfiguration"] = [{"alarmName": name} for name in update.alarm_names]
    return rendered


def _batch(size: BatchSize) -> dict[str, Any]:
    return {"type": size.unit.value, "value": size.value}
