"""Entry point of the Lambda function: handles messages of the queue, and returns the failed ones."""

import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from .clusters import Clients, ClusterEvent, Parts, look_at_cluster, parse_cluster_event
from .follow_job import look_at_job, sweep
from .settings import DeployedEnvironment, job_of_alarm

TRAINING = "SageMaker Training Job State Change"
ALARM = "CloudWatch Alarm State Change"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtJob:
    """Something may have happened to a job."""

    job: str
    again: bool = True
    """Whether the check may schedule a later one; those of the sweep do not, because the next sweep follows."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Check for missed changes of jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A message that the watch does not handle."""

    why: str


Hint = LookAtJob | ClusterEvent | Sweep | Unknown


def parse_event(body: Mapping[str, Any], *, alarm_prefix: str) -> Hint:
    """Return the action for a message's document."""
    if body.get("kind") == "sweep":
        return Sweep()
    if body.get("kind") == "look":
        return _job(body.get("job"), again=bool(body.get("again", True)))
    if not isinstance(body.get("detail"), Mapping):
        return Unknown(why="it is neither an event nor a message of the watch")
    return _event(str(body.get("detail-type")), body, body["detail"], alarm_prefix)


def _event(kind: str, body: Mapping[str, Any], detail: Mapping[str, Any], alarm_prefix: str) -> Hint:
    if kind == TRAINING:
        return _job(detail.get("TrainingJobName"))
    if kind == ALARM:
        job = job_of_alarm(str(detail.get("alarmName")), alarm_prefix)
        return _job(job) if job else Unknown(why=f"alarm {detail.get('alarmName')} is not an alarm of the watch")
    event = parse_cluster_event(body, detail)
    return event or Unknown(why=f"unexpected event type {kind!r}")


def _job(name: object, *, again: bool = True) -> Hint:
    if not isinstance(name, str) or not name:
        return Unknown(why="the message has no job name")
    return LookAtJob(job=name, again=again)


_LOG = logging.getLogger(__name__)
_LOG.setLevel(logging.INFO)
_SPARED = 60
"""Remaining seconds of an invocation below which no new copy of an object starts."""


class Context(Protocol):
    """The context object of Lambda."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining milliseconds of the invocation."""
        ...


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Handle a batch of the queue, or one single message; see `serve`."""
    ends = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - _SPARED
    parts = Parts(
        deployed_environment=DeployedEnvironment.read(os.environ),
        clients=Clients.make(),
        in_time=lambda: time.monotonic() < ends,
    )
    answer = serve(parts, event)
    raise_when_none_was_served(event, answer)
    return answer


class NothingServed(Exception):
    """All messages of an invocation failed; the log has the reasons."""


def raise_when_none_was_served(event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Raise `NothingServed` so that Lambda counts an error for the alarm: it does not count partial batch failures.

    The messages are redelivered in any case.
    """
    failed = answer["batchItemFailures"]
    if failed and len(failed) == len(event["Records"]):
        raise NothingServed(f"all of {len(failed)} messages failed")


def serve(parts: Parts, event: Mapping[str, Any]) -> dict[str, Any]:
    """Handle each message separately; return the failed ones in the format of the event source mapping.

    A document that is not a batch is handled as one message, whose errors are raised.
    """
    if "Records" not in event:
        _serve_one(parts, parse_event(event, alarm_prefix=parts.deployed_environment.alarm_prefix))
        return {"batchItemFailures": []}
    failed = [record["messageId"] for record in event["Records"] if not _served(parts, record)]
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}


def _served(parts: Parts, record: Mapping[str, Any]) -> bool:
    try:
        _serve_one(parts, _hint(parts, record["body"]))
    except Exception:
        # A failure affects only its message: SQS redelivers it, and finally moves it to the dead-letter queue.
        _LOG.exception("message %s failed", record["messageId"])
        return False
    return True


def _hint(parts: Parts, body: str) -> Hint:
    try:
        document = json.loads(body)
    except ValueError:
        return Unknown(why="the message is not JSON")
    if not isinstance(document, dict):
        return Unknown(why="the message is not a JSON object")
    return parse_event(cast(dict[str, Any], document), alarm_prefix=parts.deployed_environment.alarm_prefix)


def _serve_one(parts: Parts, hint: Hint) -> None:
    if isinstance(hint, LookAtJob):
        look_at_job(parts, hint.job, again=hint.again)
    elif isinstance(hint, ClusterEvent):
        look_at_cluster(parts, hint)
    elif isinstance(hint, Sweep):
        sweep(parts)
    else:
        _LOG.warning("dropped: %s", hint.why)
