"""IAM checks calls of SageMaker, CloudWatch Logs, EventBridge and Application Auto Scaling with the resource's ARN.

moto determines the resource of S3 calls only and checks every other call as a call on `*`, so a statement that names a
resource would allow nothing. A call whose resource this module cannot determine is checked as before.

Source: model cfn-lint AdditionalSpecs/Policies.json
"""

import json
from collections.abc import Callable
from typing import Any

from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse
from moto.events.responses import EventsHandler
from moto.logs.responses import LogsResponse
from moto.sagemaker.responses import SageMakerResponse

_PARTITION = "aws"
_KINDS = {
    "NotebookInstanceName": "notebook-instance",
    "TrainingJobName": "training-job",
    "EndpointName": "endpoint",
    "EndpointConfigName": "endpoint-config",
    "ModelName": "model",
    "ClusterName": "cluster",
}
"""Kind of resource in the ARN, by the member of the input that names the resource; the first member found is used."""


def install() -> None:
    """Set the resource of each call of these services."""
    _check(SageMakerResponse, _of_sagemaker)
    _check(LogsResponse, _of_logs)
    _check(EventsHandler, _of_events)
    _check(ApplicationAutoScalingResponse, _of_scaling)


def _check(responses: Any, resource: Callable[[Any, dict[str, Any]], str]) -> None:
    def determine(self: Any) -> str:
        return resource(self, json.loads(self.body or "{}"))

    responses._determine_resource = determine


def _of_sagemaker(response: Any, requested: dict[str, Any]) -> str:
    if "ResourceArn" in requested:
        return str(requested["ResourceArn"])
    for member, kind in _KINDS.items():
        if member in requested:
            name = str(requested[member])
            return name if name.startswith("arn:") else _arn(response, "sagemaker", f"{kind}/{name}")
    return "*"


def _of_logs(response: Any, requested: dict[str, Any]) -> str:
    # AWS's error messages show that the search is checked for all log groups of the account.
    if "logGroupNamePrefix" in requested:
        return _arn(response, "logs", "log-group::log-stream:")
    if "logGroupName" not in requested:
        return "*"
    stream = requested.get("logStreamName")
    group = f"log-group:{requested['logGroupName']}"
    return _arn(response, "logs", f"{group}:log-stream:{stream}" if stream else group)


def _of_events(response: Any, requested: dict[str, Any]) -> str:
    """Return the ARN of a rule of the default bus, if the call names a rule."""
    return (
        _arn(response, "events", f"rule/{requested['Name']}")
        if "Name" in requested and "EventBusName" not in requested
        else "*"
    )


def _of_scaling(response: Any, requested: dict[str, Any]) -> str:
    """Return the ARN of the call's scalable target; if it does not exist, of any target."""
    targets = response.applicationautoscaling_backend.targets.get(requested.get("ScalableDimension"), {})
    target = targets.get(requested.get("ResourceId"))
    return target.arn if target else _arn(response, "application-autoscaling", "scalable-target/none")


def _arn(response: Any, service: str, resource: str) -> str:
    return f"arn:{_PARTITION}:{service}:{response.region}:{response.current_account}:{resource}"
