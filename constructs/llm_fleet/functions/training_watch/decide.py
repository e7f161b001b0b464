"""Facts of a training job, whose fault its end is, and what is done with it. `decide` and `verify` ask nobody.

The watch's memory of it: one item a job, written under conditions, so that what was decided is decided once.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from .checkpoints import Checkpoint, successor_name
from .settings import JobSettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sagemaker import SageMakerClient

ROOT_TAG = "llm-fleet:root"
ATTEMPT_TAG = "llm-fleet:attempt"
AFTER_TAG = "llm-fleet:after"
_NOT_FOUND = ("ResourceNotFound", "ValidationException", "ValidationError")
"""DescribeTrainingJob answers a name that is not there with ValidationException: "Requested resource not found."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job and its place in a line of restarts."""

    description: Mapping[str, Any]
    """DescribeTrainingJob's answer."""
    tags: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name."""
        return self.description["TrainingJobName"]

    @property
    def root(self) -> str:
        """Name of the first job of its line: its own, when it is no restart."""
        return self.tags.get(ROOT_TAG, self.name)

    @property
    def attempt(self) -> int:
        """How many restarts led to it."""
        text = self.tags.get(ATTEMPT_TAG, "0")
        return int(text) if text.isdigit() else 0

    @property
    def status(self) -> str:
        """InProgress, Completed, Failed, Stopping, Stopped or Deleting."""
        return self.description["TrainingJobStatus"]

    @property
    def secondary(self) -> str:
        """E.g. Training, Uploading, MaxRuntimeExceeded."""
        return self.description.get("SecondaryStatus", "")

    @property
    def failure(self) -> str:
        """Why it failed, in the service's words; empty when it did not."""
        return self.description.get("FailureReason", "")

    @property
    def ended(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.status in ("Completed", "Failed", "Stopped")

    @property
    def training_since(self) -> float | None:
        """When training began, or began anew after an interruption, in seconds since 1970."""
        began: list[datetime] = [
            step["StartTime"]
            for step in self.description.get("SecondaryStatusTransitions", ())
            if step["Status"] == "Training" and "StartTime" in step
        ]
        began += [time for time in (self.description.get("TrainingStartTime"),) if time]
        return max(began).timestamp() if began else None

    @property
    def checkpoint_uri(self) -> str | None:
        """Where its checkpoints are kept, without a slash at the end."""
        uri = self.description.get("CheckpointConfig", {}).get("S3Uri")
        return uri.rstrip("/") if uri else None

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics that are taken from its log."""
        algorithm = self.description.get("AlgorithmSpecification", {})
        return frozenset(metric["Name"] for metric in algorithm.get("MetricDefinitions", ()))


def read_job(sagemaker: "SageMakerClient", name: str) -> JobFacts | None:
    """Return what is so about a job, or nothing when there is none of that name."""
    try:
        answer = sagemaker.describe_training_job(TrainingJobName=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _NOT_FOUND:
            return None
        raise
    tags = read_tags(sagemaker, answer["TrainingJobArn"])
    return JobFacts(description=cast(Mapping[str, Any], answer), tags=tags)


def read_tags(sagemaker: "SageMakerClient", arn: str) -> dict[str, str]:
    """Return a job's tags; at most 50, so one page holds them."""
    return {tag["Key"]: tag["Value"] for tag in sagemaker.list_tags(ResourceArn=arn, MaxResults=100)["Tags"]}


SERVICE, CAPACITY, USER, RUNTIME, PERSON, COMPLETED, UNKNOWN = (
    "service",
    "capacity",
    "user",
    "runtime",
    "person",
    "completed",
    "unknown",
)


def cause_of(*, status: str, secondary: str, failure: str) -> str:
    """Return why a job ended: one of the words above, by DescribeTrainingJob's three."""
    if status == "Completed":
        return COMPLETED
    texts = {"secondary": secondary, "failure": failure}
    for row in _rows():
        if re.search(row["pattern"], texts[row["of"]]):
            return row["cause"]
    return PERSON if status == "Stopped" and secondary == "Stopped" else UNKNOWN


@cache
def _rows() -> list[dict[str, Any]]:
    return json.loads(Path(__file__).with_name("failures.json").read_text(encoding="utf-8"))["rows"]


RESTART, LEAVE, GIVE_UP = "restart", "leave", "give_up"
NAN = "nan"
_WORDS = {
    COMPLETED: "it completed",
    USER: "its own program or request failed, and would again",
    PERSON: "it was stopped by somebody",
    RUNTIME: "it reached its longest run time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """What was recorded before a sick job was stopped."""

    kind: str
    """loss-spike, stall, nan or throughput."""
    onset: float
    """Since when it may be sick, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is done with a job that has ended."""

    decision: str
    """restart, leave or give_up."""
    cause: str
    reason: str
    """In words."""
    successor: str | None = None
    due: int | None = None
    """When the successor may start, in seconds since 1970."""
    checkpoint: str | None = None
    """Folder of the checkpoint that the successor is given; empty: all of the prefix; none: it keeps the prefix."""


def decide(
    facts: JobFacts, divergence: Divergence | None, before: Checkpoint | None, settings: JobSettings, *, now: float
) -> Decision:
    """Decide on a job that has ended; `before`: the newest checkpoint that was whole before it diverged."""
    cause = cause_of(status=facts.status, secondary=facts.secondary, failure=facts.failure)
    if cause == COMPLETED or divergence is None:
        return _plain(facts, cause, settings, now)
    since = datetime.fromtimestamp(divergence.onset, UTC).isoformat(timespec="seconds")
    words = f"stopped for {divergence.kind} since {since}"
    if before is None:
        return Decision(decision=GIVE_UP, cause=divergence.kind, reason=f"{words}: no checkpoint was whole before that")
    place = before.folder or "its checkpoints of that time"
    return _again(facts, divergence.kind, f"{words}; goes on from {place}", settings, now, before.folder)


def _plain(facts: JobFacts, cause: str, settings: JobSettings, now: float) -> Decision:
    retried = {SERVICE, CAPACITY} | ({RUNTIME} if settings.restart_at_max_runtime else set[str]())
    reported = facts.failure or facts.secondary
    if cause in retried:
        return _again(facts, cause, f"ended for reasons of {cause}: {reported}", settings, now, None)
    words = _WORDS.get(cause, "why it ended is not known to be the service's fault")
    return Decision(decision=LEAVE, cause=cause, reason=words if cause == COMPLETED else f"{words}: {reported}")


def _again(
    facts: JobFacts, cause: str, words: str, settings: JobSettings, now: float, checkpoint: str | None
) -> Decision:
    restart = facts.attempt + 1
    if restart > settings.max_restarts:
        reason = f"{words}; {facts.attempt} of at most {settings.max_restarts} restarts are used up"
        return Decision(decision=GIVE_UP, cause=cause, reason=reason)
    return Decision(
        decision=RESTART,
        cause=cause,
        reason=f"{words}; restart {restart} of at most {settings.max_restarts}",
        successor=successor_name(facts.root, restart),
        due=int(now) + settings.backoff(restart),
        checkpoint=checkpoint,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sickness:
    """What alarms say of a running job, weighed."""

    stop: Divergence | None = None
    """Stop it for this."""
    notice: str | None = None
    """Tell this, and leave it running."""
    until: float | None = None
    """Look again then: it is too early to believe the alarm."""


def verify(facts: JobFacts, firing: Mapping[str, float], settings: JobSettings, *, now: float) -> Sickness:
    """Weigh the alarms that are on: kind to the onset that each tells, in seconds since 1970.

    NaN is believed at once; the others not before the job has trained for a while, as a loss falls steeply at first.
    """
    since = facts.training_since
    if not firing or since is None:
        return Sickness()
    kind, onset = min(firing.items(), key=lambda item: (item[0] != NAN, item[1], item[0]))
    believed = since + (0 if kind == NAN else settings.grace_seconds)
    if now < believed:
        return Sickness(until=believed)
    if facts.checkpoint_uri is None or settings.max_restarts == 0:
        why = "it keeps no checkpoints" if settings.max_restarts else "the watch only tells"
        return Sickness(notice=f"{kind}: left running, as {why}")
    return Sickness(stop=Divergence(kind=kind, onset=onset - settings.onset_margin_seconds))


OPEN_INDEX = "open"
_AT_ONCE = 100
"""Items that one BatchGetItem takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is recorded of a job; attributes as in the table, numbers as text as DynamoDB gives them."""

    values: Mapping[str, str]

    def text(self, name: str) -> str | None:
        """Return an attribute, or nothing."""
        return self.values.get(name)

    def number(self, name: str) -> float | None:
        """Return an attribute that is a number."""
        value = self.values.get(name)
        return None if value is None else float(value)

    @property
    def open(self) -> bool:
        """Whether something is left to do."""
        return "open" in self.values

    @property
    def decision(self) -> str | None:
        """What was decided when the job had ended."""
        return self.values.get("decision")

    @property
    def divergence(self) -> Divergence | None:
        """For what the job was stopped."""
        kind, onset = self.values.get("stopping"), self.number("onset")
        return None if kind is None or onset is None else Divergence(kind=kind, onset=onset)


class Record:
    """The table. Writes that would change what is decided are not made; who lost reads the winner's."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, watch: str) -> None:
        """`watch`: its name, which marks the items that are not finished."""
        self._dynamodb = dynamodb
        self._table = table
        self._watch = watch

    def read(self, job: str) -> Entry | None:
        """Return a job's entry as it is now, or nothing."""
        answer = self._dynamodb.get_item(TableName=self._table, Key={"job": {"S": job}}, ConsistentRead=True)
        item = answer.get("Item")
        return Entry(values={name: str(next(iter(value.values()))) for name, value in item.items()}) if item else None

    def begin(self, key: str, words: Mapping[str, str | int], *, to_do: bool = True) -> None:
        """Write the first entry of a job or an event, unless there is one; `to_do`: the sweep shall look at it."""
        item = {"job": key, "watch": self._watch, **({"open": self._watch} if to_do else {}), **words}
        self._try(
            self._dynamodb.put_item,
            Item={name: _typed(value) for name, value in item.items()},
            ConditionExpression="attribute_not_exists(#job)",
            ExpressionAttributeNames={"#job": "job"},
        )

    def diverged(self, job: str, divergence: Divergence) -> None:
        """Write that a job is stopped and why, before it is: its end is understood by this."""
        words = {"stopping": divergence.kind, "onset": divergence.onset}
        self._set(job, words, unless=("stopping", "decision"))

    def decide(self, job: str, decision: Decision, now: float) -> None:
        """Write what is done with a job that has ended, unless it is decided."""
        words = {
            "decision": decision.decision,
            "cause": decision.cause,
            "reason": decision.reason,
            "decided": int(now),
            "successor": decision.successor,
            "due": decision.due,
            "checkpoint": decision.checkpoint,
        }
        self._set(job, {name: value for name, value in words.items() if value is not None}, unless=("decision",))

    def give_up(self, job: str, reason: str) -> None:
        """Write that a restart cannot be made, unless it was."""
        self._set(job, {"decision": GIVE_UP, "reason": reason}, unless=("created",))

    def postpone(self, job: str, *, until: float, seen: float, tries: int) -> None:
        """Write a later time for a restart, unless somebody has since `seen`, its time so far."""
        self._set(job, {"due": int(until), "tries": tries}, unless=("created",), same={"due": int(seen)})

    def created(self, job: str, now: float) -> None:
        """Write that the successor is there; then it is a restart whatever somebody gave up meanwhile."""
        self._set(job, {"created": int(now), "decision": RESTART})

    def note(self, job: str, name: str, value: str) -> None:
        """Write something that is only ever one way: told, alarms, noticed."""
        self._set(job, {name: value})

    def close(self, job: str) -> None:
        """Write that nothing is left to do."""
        self._dynamodb.update_item(
            TableName=self._table,
            Key={"job": {"S": job}},
            UpdateExpression="REMOVE #open",
            ExpressionAttributeNames={"#open": "open"},
        )

    def known(self, jobs: Iterable[str]) -> set[str]:
        """Return those of `jobs` that have an entry."""
        found: set[str] = set()
        requested: list[Any] = [{"job": {"S": job}} for job in dict.fromkeys(jobs)]
        while requested:
            wanted: Any = {"Keys": requested[:_AT_ONCE], "ConsistentRead": True, "ProjectionExpression": "job"}
            answer: Any = self._dynamodb.batch_get_item(RequestItems={self._table: wanted})
            found |= {item["job"]["S"] for item in answer["Responses"].get(self._table, ())}
            left: Any = answer.get("UnprocessedKeys", {}).get(self._table, {"Keys": []})
            requested = [*left["Keys"], *requested[_AT_ONCE:]]
        return found

    def unfinished(self) -> Iterator[str]:
        """Yield the jobs with something left to do; a write of the last second may be missing."""
        pages = self._dynamodb.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=OPEN_INDEX,
            KeyConditionExpression="#open = :watch",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":watch": {"S": self._watch}},
        )
        for page in pages:
            yield from (item["job"]["S"] for item in page["Items"] if "S" in item["job"])

    def _set(
        self,
        job: str,
        words: Mapping[str, str | float],
        *,
        unless: tuple[str, ...] = (),
        same: Mapping[str, str | float] | None = None,
    ) -> None:
        same = same or {}
        conditions = ["attribute_exists(#job)", *(f"attribute_not_exists(#{name})" for name in unless)]
        conditions += [f"#{name} = :was_{name}" for name in same]
        values = {f":{name}": _typed(value) for name, value in words.items()}
        self._try(
            self._dynamodb.update_item,
            Key={"job": {"S": job}},
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in words),
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames={f"#{name}": name for name in {"job", *words, *unless, *same}},
            ExpressionAttributeValues=values | {f":was_{name}": _typed(value) for name, value in same.items()},
        )

    def _try(self, write: Any, **request: Any) -> None:
        try:
            write(TableName=self._table, **request)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ConditionalCheckFailedException":
                raise


def _typed(value: str | float) -> dict[str, str]:
    return {"S": value} if isinstance(value, str) else {"N": str(value)}
