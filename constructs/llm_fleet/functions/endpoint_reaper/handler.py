"""Deletes an endpoint after its time to live. Repeated runs, also after a crash, are harmless.

Each run depends only on existing resources, not on earlier runs: before it deletes the endpoint, it tags configuration
and model, and it deletes only tagged ones without an endpoint. Those without the tag are retained: a user deleted the
endpoint, and may want to create it again.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, Protocol, Self

import boto3
from botocore.exceptions import ClientError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One endpoint, its resources, and its time to live."""

    endpoint: str
    """Name of the endpoint."""
    config: str
    """Name of the endpoint configuration."""
    model: str
    """Name of the model."""
    ttl_seconds: int
    """Time to live since its creation."""
    rule: str
    """Name of the rule that runs the function."""
    scaled: str
    """Resource id of the scalable target; empty without scaling."""
    topic: str
    """ARN of the topic for the deletion notice; empty without one."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read the environment variables. Raises `KeyError` for a missing variable."""
        return cls(
            endpoint=environment["ENDPOINT_NAME"],
            config=environment["CONFIG_NAME"],
            model=environment["MODEL_NAME"],
            ttl_seconds=int(environment["TTL_SECONDS"]),
            rule=environment["RULE_NAME"],
            scaled=environment.get("SCALED", ""),
            topic=environment.get("TOPIC_ARN", ""),
        )


ENDED = "llm-fleet:ended"
"""Tag of a configuration and model whose endpoint this function deletes."""
Found = Literal["gone", "marked", "not marked"]
"""State of a resource: deleted, tagged, or not tagged."""
_GONE = "Could not find"
IN_BETWEEN = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack"})
"""Statuses in which SageMaker rejects DeleteEndpoint."""
_GOING = "Deleting"
_SCALED = "sagemaker:variant:DesiredInstanceCount"


class Part(StrEnum):
    """Resources of an endpoint, by their resource type in ARNs."""

    CONFIG = "endpoint-config"
    MODEL = "model"


class Hosting:
    """One endpoint and its resources. A missing resource is not an error, since an earlier run may have deleted it."""

    def __init__(self, settings: Settings, client: Callable[[str], Any]) -> None:
        """`client`: returns a boto3 client by service name."""
        self._settings = settings
        self._sagemaker = client("sagemaker")
        self._client = client

    def endpoint(self) -> dict[str, Any] | None:
        """Return DescribeEndpoint's response; `None` if the endpoint is deleted."""
        return _unless_gone(lambda: self._sagemaker.describe_endpoint(EndpointName=self._settings.endpoint))

    def can_be_deleted(self, endpoint: dict[str, Any]) -> bool:
        """Return whether SageMaker would accept DeleteEndpoint now."""
        return endpoint["EndpointStatus"] not in IN_BETWEEN

    def is_being_deleted(self, endpoint: dict[str, Any]) -> bool:
        """Return whether it is already being deleted; SageMaker rejects a second DeleteEndpoint."""
        return endpoint["EndpointStatus"] == _GOING

    def mark(self, part: Part, name: str, when: str) -> None:
        """Tag a resource before its endpoint is deleted, so that a later run can delete it."""
        arn = self._arn(part, name)
        if arn:
            _unless_gone(lambda: self._sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": ENDED, "Value": when}]))

    def found(self, part: Part, name: str) -> Found:
        """Return whether a resource exists and has the tag."""
        arn = self._arn(part, name)
        if arn is None:
            return "gone"
        answer = _unless_gone(lambda: self._sagemaker.list_tags(ResourceArn=arn))
        tags: list[dict[str, str]] = answer["Tags"] if answer else []
        return "marked" if any(tag["Key"] == ENDED for tag in tags) else "not marked"

    def stop_scaling(self) -> None:
        """Deregister the scalable target, which also deletes its policy and the policy's alarms."""
        if not self._settings.scaled:
            return
        scaling = self._client("application-autoscaling")
        _unless_gone(
            lambda: scaling.deregister_scalable_target(
                ServiceNamespace="sagemaker", ResourceId=self._settings.scaled, ScalableDimension=_SCALED
            )
        )

    def delete_endpoint(self) -> None:
        """Call DeleteEndpoint; the deletion takes minutes."""
        _unless_gone(lambda: self._sagemaker.delete_endpoint(EndpointName=self._settings.endpoint))

    def delete(self, part: Part, name: str) -> None:
        """Delete the configuration or the model."""
        if part is Part.MODEL:
            _unless_gone(lambda: self._sagemaker.delete_model(ModelName=name))
        else:
            _unless_gone(lambda: self._sagemaker.delete_endpoint_config(EndpointConfigName=name))

    def _arn(self, part: Part, name: str) -> str | None:
        """Return a resource's ARN, whose name is in lowercase; `None` if it is deleted."""
        if part is Part.MODEL:
            model = _unless_gone(lambda: self._sagemaker.describe_model(ModelName=name))
            return model and model["ModelArn"]
        config = _unless_gone(lambda: self._sagemaker.describe_endpoint_config(EndpointConfigName=name))
        return config and config["EndpointConfigArn"]


def _unless_gone(call: Callable[[], Any]) -> Any:
    """Return the result of `call`, or `None` if the resource does not exist.

    SageMaker has no error code for that: it returns ValidationException with "Could not find".
    """
    try:
        return call()
    except ClientError as error:
        details = error.response.get("Error", {})
        if details.get("Code") in ("ObjectNotFoundException", "ResourceNotFound") or _GONE in details.get(
            "Message", ""
        ):
            return None
        raise


_LOOK_AGAIN_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run, for its log and its caller."""

    state: str
    """`young`, `busy`, `deleting`, `ended`, or `not-ours` if a user deleted the endpoint."""
    ends: str = ""
    """End of the time to live; empty if the endpoint is deleted."""
    deleted: tuple[str, ...] = ()
    """Names of resources that this run deleted or began to delete."""


class Reaper:
    """Deletes one endpoint after its time to live."""

    def __init__(
        self,
        settings: Settings,
        client: Callable[[str], Any],
        *,
        patience: Callable[[], float],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """`client`: returns a boto3 client by service name; `patience`: returns the remaining seconds of a run."""
        self._settings = settings
        self._hosting = Hosting(settings, client)
        self._client = client
        self._patience = patience
        self._wait = wait

    def run(self, now: datetime) -> Outcome:
        """Do the next steps at the time `now`."""
        endpoint = self._hosting.endpoint()
        if endpoint is None:
            return self._finish(())
        ends = endpoint["CreationTime"] + timedelta(seconds=self._settings.ttl_seconds)
        if now < ends:
            return Outcome(state="young", ends=ends.isoformat())
        if self._hosting.is_being_deleted(endpoint):
            # Deleted by an earlier run, which tagged the other resources, or by a user, whose resources are retained.
            return Outcome(state="deleting", ends=ends.isoformat())
        if not self._hosting.can_be_deleted(endpoint):
            return Outcome(state="busy", ends=ends.isoformat())
        self._begin(now)
        if not self._is_gone():
            return Outcome(state="deleting", ends=ends.isoformat(), deleted=(self._settings.endpoint,))
        return self._finish((self._settings.endpoint,))

    @property
    def _parts(self) -> list[tuple[Part, str]]:
        return [(Part.CONFIG, self._settings.config), (Part.MODEL, self._settings.model)]

    def _begin(self, now: datetime) -> None:
        for part, name in self._parts:
            self._hosting.mark(part, name, now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        self._hosting.stop_scaling()
        self._hosting.delete_endpoint()

    def _is_gone(self) -> bool:
        """Wait for the endpoint's deletion during this run; the next run continues otherwise."""
        while self._hosting.endpoint() is not None:
            if self._patience() < 2 * _LOOK_AGAIN_SECONDS:
                return False
            self._wait(_LOOK_AGAIN_SECONDS)
        return True

    def _finish(self, deleted: tuple[str, ...]) -> Outcome:
        """Delete tagged resources, publish before the last deletion, and disable the rule.

        After a crash before the last deletion, the next run completes it, and may publish a second time.
        """
        found = {part: self._hosting.found(part, name) for part, name in self._parts}
        marked = [(part, name) for part, name in self._parts if found[part] == "marked"]
        if not marked and not deleted and "not marked" in found.values():
            return Outcome(state="not-ours")
        self._hosting.stop_scaling()
        for part, name in marked[:-1]:
            self._hosting.delete(part, name)
        if marked or deleted:
            self._report()
        for part, name in marked[-1:]:
            self._hosting.delete(part, name)
        self._client("events").disable_rule(Name=self._settings.rule)
        return Outcome(state="ended", deleted=(*deleted, *(name for _, name in marked)))

    def _report(self) -> None:
        if not self._settings.topic:
            return
        name = self._settings.endpoint
        self._client("sns").publish(
            TopicArn=self._settings.topic,
            Subject=f"Endpoint {name} was deleted"[:100],
            Message=json.dumps(
                {
                    "endpoint": name,
                    "what": "The time to live is over: endpoint, configuration and model are deleted. Captured data "
                    "and logs are retained.",
                    "restore": "destroy its stack, and deploy it again",
                },
                indent=2,
            ),
        )


class Context(Protocol):
    """The context object of Lambda."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining milliseconds of the invocation."""
        ...


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Delete the endpoint if its time to live is over at the event's `time`, or now without one."""
    reaper = Reaper(
        Settings.read(os.environ),
        lambda service: boto3.client(service),  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType, reportArgumentType, reportCallIssue]
        patience=lambda: context.get_remaining_time_in_millis() / 1000,
    )
    outcome = asdict(reaper.run(_now(event)))
    print(json.dumps(outcome))
    return outcome


def _now(event: dict[str, Any]) -> datetime:
    """Return the time of the event, so that a late event does not shorten the time to live."""
    time = event.get("time")
    return datetime.fromisoformat(str(time).replace("Z", "+00:00")) if time else datetime.now(UTC)
