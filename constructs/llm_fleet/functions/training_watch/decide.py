"""Facts of a training job, the cause of its end, and the decision. `decide` and `verify` call no API.

`Record` stores one item for each job, with conditional writes, so that each decision is made only once.
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
"""DescribeTrainingJob returns ValidationException for an unknown name: "Requested resource not found."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job and its number in a series of restarts."""

    description: Mapping[str, Any]
    """DescribeTrainingJob's response."""
    tags: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of the job."""
        return self.description["TrainingJobName"]

    @property
    def root(self) -> str:
        """Name of the first job of the series; its own name if it is not a restart."""
        return self.tags.get(ROOT_TAG, self.name)

    @property
    def attempt(self) -> int:
        """Number of the restart; 0 for the first job."""
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
        """SageMaker's FailureReason; empty if it did not fail."""
        return self.description.get("FailureReason", "")

    @property
    def ended(self) -> bool:
        """Whether its status is final."""
        return self.status in ("Completed", "Failed", "Stopped")

    @property
    def training_since(self) -> float | None:
        """Start of training, or restart after an interruption, in seconds since 1970."""
        began: list[datetime] = [
            step["StartTime"]
            for step in self.description.get("SecondaryStatusTransitions", ())
            if step["Status"] == "Training" and "StartTime" in step
        ]
        began += [time for time in (self.description.get("TrainingStartTime"),) if time]
        return max(began).timestamp() if began else None

    @property
    def checkpoint_uri(self) -> str | None:
        """S3 URI of its checkpoints without a trailing slash."""
        uri = self.description.get("CheckpointConfig", {}).get("S3Uri")
        return uri.rstrip("/") if uri else None

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics in its metric definitions."""
        algorithm = self.description.get("AlgorithmSpecification", {})
        return frozenset(metric["Name"] for metric in algorithm.get("MetricDefinitions", ()))


def read_job(sagemaker: "SageMakerClient", name: str) -> JobFacts | None:
    """Return the facts of a job, or `None` if it does not exist."""
    try:
        answer = sagemaker.describe_training_job(TrainingJobName=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _NOT_FOUND:
            return None
        raise
    tags = read_tags(sagemaker, answer["TrainingJobArn"])
    return JobFacts(description=cast(Mapping[str, Any], answer), tags=tags)


def read_tags(sagemaker: "SageMakerClient", arn: str) -> dict[str, str]:
    """Return a job's tags; at most 50, which fit on one page."""
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
    """Return the cause of a job's end, one of the constants above."""
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
    PERSON: "a user stopped it",
    RUNTIME: "it reached its maximum runtime",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The problem that is recorded before a job is stopped."""

    kind: str
    """loss-spike, stall, nan or throughput."""
    onset: float
    """Onset of the problem in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision about a job that has ended."""

    decision: str
    """restart, leave or give_up."""
    cause: str
    reason: str
    """Reason for notifications."""
    successor: str | None = None
    due: int | None = None
    """Earliest start of the successor in seconds since 1970."""
    checkpoint: str | None = None
    """Checkpoint folder to copy for the successor; empty: the whole prefix; `None`: it uses the same prefix."""


def decide(
    facts: JobFacts, divergence: Divergence | None, before: Checkpoint | None, settings: JobSettings, *, now: float
) -> Decision:
    """Decide on a job that has ended; `before`: the newest checkpoint that was complete before it diverged."""
    cause = cause_of(status=facts.status, secondary=facts.secondary, failure=facts.failure)
    if cause == COMPLETED or divergence is None:
        return _plain(facts, cause, settings, now)
    since = datetime.fromtimestamp(divergence.onset, UTC).isoformat(timespec="seconds")
    words = f"stopped for {divergence.kind} since {since}"
    if before is None:
        return Decision(decision=GIVE_UP, cause=divergence.kind, reason=f"{words}: no complete checkpoint before that")
    place = before.folder or "its checkpoints of that time"
    return _again(facts, divergence.kind, f"{words}; resumes from {place}", settings, now, before.folder)


def _plain(facts: JobFacts, cause: str, settings: JobSettings, now: float) -> Decision:
    retried = {SERVICE, CAPACITY} | ({RUNTIME} if settings.restart_at_max_runtime else set[str]())
    detail = facts.failure or facts.secondary
    if cause in retried:
        return _again(facts, cause, f"ended because of {cause}: {detail}", settings, now, None)
    words = _WORDS.get(cause, "the reason is not known to be a failure of the service")
    return Decision(decision=LEAVE, cause=cause, reason=words if cause == COMPLETED else f"{words}: {detail}")


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
    """The evaluation of a running job's alarms."""

    stop: Divergence | None = None
    """Stop the job because of this."""
    notice: str | None = None
    """Publish this, and leave the job running."""
    until: float | None = None
    """Check again at this time: it is too early to trust the alarm."""


def verify(facts: JobFacts, firing: Mapping[str, float], settings: JobSettings, *, now: float) -> Sickness:
    """Evaluate alarms in state ALARM: `firing` has the onset in seconds since 1970 by kind.

    NaN counts immediately; the others only after the grace period, since a loss falls steeply at first.
    """
    since = facts.training_since
    if not firing or since is None:
        return Sickness()
    kind, onset = min(firing.items(), key=lambda item: (item[0] != NAN, item[1], item[0]))
    believed = since + (0 if kind == NAN else settings.grace_seconds)
    if now < believed:
        return Sickness(until=believed)
    if facts.checkpoint_uri is None or settings.max_restarts == 0:
        why = "it has no checkpoints" if settings.max_restarts else "restarts are disabled"
        return Sickness(notice=f"{kind}: left running, because {why}")
    return Sickness(stop=Divergence(kind=kind, onset=onset - settings.onset_margin_seconds))


OPEN_INDEX = "open"
_AT_ONCE = 100
"""Maximum items of one BatchGetItem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The table's item of a job; numbers are strings, as in DynamoDB."""

    values: Mapping[str, str]

    def text(self, name: str) -> str | None:
        """Return an attribute, or `None`."""
        return self.values.get(name)

    def number(self, name: str) -> float | None:
        """Return a numeric attribute, or `None`."""
        value = self.values.get(name)
        return None if value is None else float(value)

    @property
    def open(self) -> bool:
        """Whether it has pending actions."""
        return "open" in self.values

    @property
    def decision(self) -> str | None:
        """The decision about the ended job."""
        return self.values.get("decision")

    @property
    def divergence(self) -> Divergence | None:
        """The problem for which the job was stopped."""
        kind, onset = self.values.get("stopping"), self.number("onset")
        return None if kind is None or onset is None else Divergence(kind=kind, onset=onset)


class Record:
    """The table. Writes that would change a decision are skipped; after a conflict, the stored value counts."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str, watch: str) -> None:
        """`watch`: its name, which marks items with pending actions."""
        self._dynamodb = dynamodb
        self._table = table
        self._watch = watch

    def read(self, job: str) -> Entry | None:
        """Return a job's current entry, or `None`."""
        answer = self._dynamodb.get_item(TableName=self._table, Key={"job": {"S": job}}, ConsistentRead=True)
        item = answer.get("Item")
        return Entry(values={name: str(next(iter(value.values()))) for name, value in item.items()}) if item else None

    def begin(self, key: str, words: Mapping[str, str | int], *, to_do: bool = True) -> None:
        """Write the entry of a job or an event, unless it exists; `to_do`: the sweep must check it."""
        item = {"job": key, "watch": self._watch, **({"open": self._watch} if to_do else {}), **words}
        self._try(
            self._dynamodb.put_item,
            Item={name: _typed(value) for name, value in item.items()},
            ConditionExpression="attribute_not_exists(#job)",
            ExpressionAttributeNames={"#job": "job"},
        )

    def diverged(self, job: str, divergence: Divergence) -> None:
        """Write the problem before the job is stopped, to recognize the reason of its end later."""
        words = {"stopping": divergence.kind, "onset": divergence.onset}
        self._set(job, words, unless=("stopping", "decision"))

    def decide(self, job: str, decision: Decision, now: float) -> None:
        """Write the decision about a job that has ended, unless there is one."""
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
        """Write that a restart is impossible, unless the successor exists."""
        self._set(job, {"decision": GIVE_UP, "reason": reason}, unless=("created",))

    def postpone(self, job: str, *, until: float, seen: float, tries: int) -> None:
        """Write a later time for a restart, unless it has changed from `seen`."""
        self._set(job, {"due": int(until), "tries": tries}, unless=("created",), same={"due": int(seen)})

    def created(self, job: str, now: float) -> None:
        """Write that the successor exists; then the decision is a restart, even if another run gave up."""
        self._set(job, {"created": int(now), "decision": RESTART})

    def note(self, job: str, name: str, value: str) -> None:
        """Write a progress attribute: reported, alarms, noticed."""
        self._set(job, {name: value})

    def close(self, job: str) -> None:
        """Write that no actions are pending."""
        self._dynamodb.update_item(
            TableName=self._table,
            Key={"job": {"S": job}},
            UpdateExpression="REMOVE #open",
            ExpressionAttributeNames={"#open": "open"},
        )

    def known(self, jobs: Iterable[str]) -> set[str]:
        """Return those of `jobs` that have an entry."""
        found: set[str] = set()
        remaining: list[Any] = [{"job": {"S": job}} for job in dict.fromkeys(jobs)]
        while remaining:
            wanted: Any = {"Keys": remaining[:_AT_ONCE], "ConsistentRead": True, "ProjectionExpression": "job"}
            answer: Any = self._dynamodb.batch_get_item(RequestItems={self._table: wanted})
            found |= {item["job"]["S"] for item in answer["Responses"].get(self._table, ())}
            left: Any = answer.get("UnprocessedKeys", {}).get(self._table, {"Keys": []})
            remaining = [*left["Keys"], *remaining[_AT_ONCE:]]
        return found

    def unfinished(self) -> Iterator[str]:
        """Yield the jobs with pending actions; a write of the last second may be missing."""
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
