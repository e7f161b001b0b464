"""Training plans of SageMaker, which moto does not have: those that a test gives the account can be described.

Source: model botocore sagemaker DescribeTrainingPlan
"""

from datetime import datetime
from typing import Any

from moto.sagemaker.responses import SageMakerResponse

from local.aws.resources.moto_fixes.json_api import Refused, install_operation

_plans: dict[tuple[str, str, str], dict[str, Any]] = {}
"""By account, region and name; as DescribeTrainingPlan tells them."""
_TIMES = ("StartTime", "EndTime")


def install() -> None:
    """Serve DescribeTrainingPlan."""
    install_operation(SageMakerResponse, "sagemaker", "DescribeTrainingPlan", _describe, invalid="ValidationException")


def give_training_plan(account: str, region: str, told: dict[str, Any]) -> None:
    """Let an account have bought a plan: `told` is what DescribeTrainingPlan says, with times in ISO 8601."""
    name = told["TrainingPlanName"]
    arn = f"arn:aws:sagemaker:{region}:{account}:training-plan/{name}"
    times = {key: datetime.fromisoformat(told[key]).timestamp() for key in _TIMES if key in told}
    _plans[account, region, name] = {"TrainingPlanArn": arn, **told, **times}


def _describe(response: Any, asked: dict[str, Any]) -> dict[str, Any]:
    found = _plans.get((response.current_account, response.region, asked["TrainingPlanName"]))
    if found is None:
        raise Refused("ResourceNotFound", f"Training plan {asked['TrainingPlanName']} does not exist")
    return found
