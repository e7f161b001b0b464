"""IAM also checks calls of SageMaker, CloudWatch Logs, EventBridge and Application Auto Scaling with their resource.

moto finds the resource of S3's calls only; every other call is checked as one on `*`, so that a statement that names
what it allows would allow nothing. A call whose resource this module cannot find is checked as before.

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
"""By the member of the input that names it, in the order in which they count: the last part of its ARN."""


def install() -> None:
    """Give moto's calls of these their resources."""
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
    if "logGroupNamePrefix" in requested:  # as its error messages show: log groups are searched in the whole account
        return _arn(response, "logs", "log-group::log-stream:")
    if "logGroupName" not in requested:
        return "*"
    stream = requested.get("logStreamName")
    group = f"log-group:{requested['logGroupName']}"
    return _arn(response, "logs", f"{group}:log-stream:{stream}" if stream else group)


def _of_events(response: Any, requested: dict[str, Any]) -> str:
    """A rule of the default bus, where a call names one."""
    return (
        _arn(response, "events", f"rule/{requested['Name']}")
        if "Name" in requested and "EventBusName" not in requested
        else "*"
    )


def _of_scaling(response: Any, requested: dict[str, Any]) -> str:
    """The target that a call is about; of one that is not there, any."""
    targets = response.applicationautoscaling_backend.targets.get(requested.get("ScalableDimension"), {})
    target = targets.get(requested.get("ResourceId"))
    return target.arn if target else _arn(response, "application-autoscaling", "scalable-target/none")


def _arn(response: Any, service: str, resource: str) -> str:
    return f"arn:{_PARTITION}:{service}:{response.region}:{response.current_account}:{resource}"
