"""Looks at an endpoint, and ends it when its time has come. Running twice, or again after a crash, is no different.

What is done is worked out from what is there, never from what a run remembers: before the endpoint is deleted, its
configuration and its model are marked, and a marked one whose endpoint is gone is deleted. One that was never marked
stays: somebody else has deleted the endpoint, and may want to create it again.
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
    """One endpoint, what belongs to it, and how long it lives."""

    endpoint: str
    """Its name."""
    config: str
    """Name of its configuration."""
    model: str
    """Name of its model."""
    ttl_seconds: int
    """How long it lives from its creation on."""
    rule: str
    """Name of the rule that runs the function again and again."""
    scaled: str
    """Application Auto Scaling's name of what is scaled; empty when nothing is."""
    topic: str
    """ARN of the topic that is told; empty when none is."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Take them from the function's environment. Raises `KeyError` for one that is missing."""
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
        reported = error.response.get("Error", {})
        if reported.get("Code") in ("ObjectNotFoundException", "ResourceNotFound") or _GONE in reported.get(
            "Message", ""
        ):
            return None
        raise


_LOOK_AGAIN_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did, for its log and for who called it."""

    state: str
    """`young`, `busy`, `deleting`, `ended`, or `not-ours` when somebody else has deleted the endpoint."""
    ends: str = ""
    """When the endpoint's time comes or came; empty when it is gone."""
    deleted: tuple[str, ...] = ()
    """What this run has deleted, or asked to be deleted."""


class Reaper:
    """Ends one endpoint."""

    def __init__(
        self,
        settings: Settings,
        client: Callable[[str], Any],
        *,
        patience: Callable[[], float],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """`client` makes a client of a service's name; `patience` tells how many seconds a run still has."""
        self._settings = settings
        self._hosting = Hosting(settings, client)
        self._client = client
        self._patience = patience
        self._wait = wait

    def run(self, now: datetime) -> Outcome:
        """Do what is to be done at `now`."""
        endpoint = self._hosting.endpoint()
        if endpoint is None:
            return self._finish(())
        ends = endpoint["CreationTime"] + timedelta(seconds=self._settings.ttl_seconds)
        if now < ends:
            return Outcome(state="young", ends=ends.isoformat())
        if self._hosting.is_being_deleted(endpoint):
            # By an earlier run, which has marked what goes with it, or by somebody else, whose parts stay.
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
        """Return whether the endpoint is gone before this run has to end; the next run goes on where it is not."""
        while self._hosting.endpoint() is not None:
            if self._patience() < 2 * _LOOK_AGAIN_SECONDS:
                return False
            self._wait(_LOOK_AGAIN_SECONDS)
        return True

    def _finish(self, deleted: tuple[str, ...]) -> Outcome:
        """Delete what is marked, tell before the last of it is gone, and run no more.

        A crash before the last deletion is made good by the next run, which may tell a second time.
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
            Subject=f"Endpoint {name} has ended"[:100],
            Message=json.dumps(
                {
                    "endpoint": name,
                    "what": "Its time to live is over: endpoint, configuration and model are deleted. What was "
                    "captured and its logs are kept.",
                    "bring it back": "destroy its stack, and deploy it again",
                },
                indent=2,
            ),
        )


class Context(Protocol):
    """What Lambda tells a run of itself."""

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the run may still take."""
        ...


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Look at the endpoint, and end it when its time has come at the event's `time` (without one: now)."""
    reaper = Reaper(
        Settings.read(os.environ),
        lambda service: boto3.client(service),  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType, reportArgumentType, reportCallIssue]
        patience=lambda: context.get_remaining_time_in_millis() / 1000,
    )
    outcome = asdict(reaper.run(_now(event)))
    print(json.dumps(outcome))
    return outcome


def _now(event: dict[str, Any]) -> datetime:
    """An event that comes late makes nothing older than it was when the rule sent it."""
    reported = event.get("time")
    return datetime.fromisoformat(str(reported).replace("Z", "+00:00")) if reported else datetime.now(UTC)
