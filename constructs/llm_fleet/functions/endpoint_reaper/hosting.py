"""SageMaker's side of an endpoint: what is there, the mark that its end has begun, and its deletion."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal

from botocore.exceptions import ClientError

from .settings import Settings

ENDED = "llm-fleet:ended"
"""Tag of configuration and model whose endpoint was deleted by this function, and by nobody else."""
Found = Literal["gone", "marked", "not marked"]
"""What there is of a part."""
_GONE = "Could not find"
IN_BETWEEN = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack"})
"""Statuses in which SageMaker refuses to delete an endpoint."""
_GOING = "Deleting"
_SCALED = "sagemaker:variant:DesiredInstanceCount"


class Part(StrEnum):
    """What belongs to an endpoint, by its word in ARNs."""

    CONFIG = "endpoint-config"
    MODEL = "model"


class Hosting:
    """One endpoint and what belongs to it. What is gone already is no error: an earlier run did it."""

    def __init__(self, settings: Settings, client: Callable[[str], Any]) -> None:
        """Ask with the clients that `client` makes of a service's name."""
        self._settings = settings
        self._sagemaker = client("sagemaker")
        self._client = client

    def endpoint(self) -> dict[str, Any] | None:
        """Return what SageMaker tells of the endpoint; `None` when it is gone."""
        return _unless_gone(lambda: self._sagemaker.describe_endpoint(EndpointName=self._settings.endpoint))

    def can_be_deleted(self, endpoint: dict[str, Any]) -> bool:
        """Return whether SageMaker would take the endpoint's deletion now."""
        return endpoint["EndpointStatus"] not in IN_BETWEEN

    def is_being_deleted(self, endpoint: dict[str, Any]) -> bool:
        """Return whether its deletion was asked for already, which SageMaker refuses a second time."""
        return endpoint["EndpointStatus"] == _GOING

    def mark(self, part: Part, name: str, when: str) -> None:
        """Write on a part that its endpoint's end has begun, so that a later run may go on with it."""
        arn = self._arn(part, name)
        if arn:
            _unless_gone(lambda: self._sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": ENDED, "Value": when}]))

    def found(self, part: Part, name: str) -> Found:
        """Return whether a part is there, and whether it was marked."""
        arn = self._arn(part, name)
        if arn is None:
            return "gone"
        answer = _unless_gone(lambda: self._sagemaker.list_tags(ResourceArn=arn))
        tags: list[dict[str, str]] = answer["Tags"] if answer else []
        return "marked" if any(tag["Key"] == ENDED for tag in tags) else "not marked"

    def stop_scaling(self) -> None:
        """Take the endpoint's variant out of Application Auto Scaling, with its policy and that policy's alarms."""
        if not self._settings.scaled:
            return
        scaling = self._client("application-autoscaling")
        _unless_gone(
            lambda: scaling.deregister_scalable_target(
                ServiceNamespace="sagemaker", ResourceId=self._settings.scaled, ScalableDimension=_SCALED
            )
        )

    def delete_endpoint(self) -> None:
        """Ask for the endpoint's deletion, which takes minutes."""
        _unless_gone(lambda: self._sagemaker.delete_endpoint(EndpointName=self._settings.endpoint))

    def delete(self, part: Part, name: str) -> None:
        """Delete the configuration or the model."""
        if part is Part.MODEL:
            _unless_gone(lambda: self._sagemaker.delete_model(ModelName=name))
        else:
            _unless_gone(lambda: self._sagemaker.delete_endpoint_config(EndpointConfigName=name))

    def _arn(self, part: Part, name: str) -> str | None:
        """Return a part's ARN as SageMaker writes it, which is in small letters; `None` when it is gone."""
        if part is Part.MODEL:
            model = _unless_gone(lambda: self._sagemaker.describe_model(ModelName=name))
            return model and model["ModelArn"]
        config = _unless_gone(lambda: self._sagemaker.describe_endpoint_config(EndpointConfigName=name))
        return config and config["EndpointConfigArn"]


def _unless_gone(call: Callable[[], Any]) -> Any:
    """Return what `call` gives, and `None` when the service knows no such thing.

    SageMaker has no code of its own for that: it answers ValidationException with "Could not find".
    """
    try:
        return call()
    except ClientError as error:
        told = error.response.get("Error", {})
        if told.get("Code") in ("ObjectNotFoundException", "ResourceNotFound") or _GONE in told.get("Message", ""):
            return None
        raise
