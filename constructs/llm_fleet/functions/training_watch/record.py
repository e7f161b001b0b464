"""The watch's memory: one item a job, written under conditions, so that what was decided is decided once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .decide import GIVE_UP, RESTART, Decision, Divergence

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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
        asked: list[Any] = [{"job": {"S": job}} for job in dict.fromkeys(jobs)]
        while asked:
            wanted: Any = {"Keys": asked[:_AT_ONCE], "ConsistentRead": True, "ProjectionExpression": "job"}
            answer: Any = self._dynamodb.batch_get_item(RequestItems={self._table: wanted})
            found |= {item["job"]["S"] for item in answer["Responses"].get(self._table, ())}
            left: Any = answer.get("UnprocessedKeys", {}).get(self._table, {"Keys": []})
            asked = [*left["Keys"], *asked[_AT_ONCE:]]
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
