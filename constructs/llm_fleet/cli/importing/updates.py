"""Turns the update and patch settings of a request's group into those of a fleet file."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.terms import CapacityUnit

_API_ONLY = ("PatchSchedule", "IdleWaitWindowInSeconds", "DrainPolicy")


def rolling(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return `DeploymentConfig` as the key `rolling`; nothing where there is none."""
    deployment = update.get("DeploymentConfig", {})
    policy = deployment.get("RollingUpdatePolicy", {})
    told: dict[str, Any] = {
        "batch": _batch(policy.get("MaximumBatchSize")),
        "rollback_batch": _batch(policy.get("RollbackMaximumBatchSize")),
        "wait": f"{deployment['WaitIntervalInSeconds']} s" if "WaitIntervalInSeconds" in deployment else None,
        "alarms": [alarm["AlarmName"] for alarm in deployment.get("AutoRollbackConfiguration", []) if alarm],
    }
    told = {key: value for key, value in told.items() if value}
    return {"rolling": told} if told else {}


def auto_patch(patch: Mapping[str, Any], name: str, notes: Notes) -> dict[str, Any] | None:
    """Return `AutoPatchConfig` as far as CloudFormation can say it."""
    for member in _API_ONLY:
        if member in patch:
            notes.left_out(
                f"AutoPatchConfig.{member} of {name}: CloudFormation cannot set it; use `aws sagemaker update-cluster`"
            )
    strategy = patch.get("PatchingStrategy")
    if strategy == "DrainFirst":
        notes.left_out(f"AutoPatchConfig of {name}: DrainFirst evicts pods, and is for EKS")
        return None
    return {"strategy": strategy, **rolling(patch)}


def _batch(size: Mapping[str, Any] | None) -> str | None:
    if size is None or "Value" not in size:
        return None
    return f"{size['Value']}%" if size.get("Type") == CapacityUnit.CAPACITY_PERCENTAGE else f"{size['Value']} nodes"
