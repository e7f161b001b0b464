"""Training plans of SageMaker, which moto lacks: a test adds them to the account, and they can be described.

Source: model botocore sagemaker DescribeTrainingPlan
"""

from datetime import datetime
from typing import Any

from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation

_plans: dict[tuple[str, str, str], dict[str, Any]] = {}
"""By account, region and name; as DescribeTrainingPlan returns them."""
_TIMES = ("StartTime", "EndTime")


def install() -> None:
    """Serve DescribeTrainingPlan."""
    install_operation(SageMakerResponse, "sagemaker", "DescribeTrainingPlan", _describe, invalid="ValidationException")


def give_training_plan(account: str, region: str, reported: dict[str, Any]) -> None:
    """Add a bought plan to an account: `reported` is as in DescribeTrainingPlan, times in ISO 8601."""
    name = reported["TrainingPlanName"]
    arn = f"arn:aws:sagemaker:{region}:{account}:training-plan/{name}"
    times = {key: datetime.fromisoformat(reported[key]).timestamp() for key in _TIMES if key in reported}
    _plans[account, region, name] = {"TrainingPlanArn": arn, **reported, **times}


def _describe(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _plans.get((response.current_account, response.region, requested["TrainingPlanName"]))
    if found is None:
        raise Rejected("ResourceNotFound", f"Training plan {requested['TrainingPlanName']} does not exist")
    return found
