"""The parts of six services that the watch uses, in memory: much faster than moto.

The same scripted day runs on both, to compare their responses with moto's.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from llm_fleet_local.aws.resources.moto_fixes.sagemaker_training_jobs import TrainingJob

BUCKET = "checkpoints-of-ours"
FAR_FUTURE = datetime.fromtimestamp(0, UTC)
Clock = Callable[[], float]


def rejected(code: str, words: str = "") -> ClientError:
    """Return the error that boto3 raises."""
    return ClientError({"Error": {"Code": code, "Message": words or code}}, "Operation")


def moment(seconds: float) -> datetime:
    """Return a time as boto3 returns it."""
    return datetime.fromtimestamp(seconds, UTC)


class Pages:
    """A paginator of one page."""

    def __init__(self, page: Callable[..., Mapping[str, Any]]) -> None:
        self._page = page

    def paginate(self, **request: Any) -> Iterator[Mapping[str, Any]]:
        yield self._page(**request)


class Paged:
    """A client whose paginators call its own methods."""

    def get_paginator(self, operation: str) -> Pages:
        return Pages(getattr(self, operation))


@dataclass
class MemoryDynamoDB(Paged):
    """One table, by its key `job`, and its index `open`."""

    items: dict[str, dict[str, Any]] = field(default_factory=lambda: {})

    def get_item(self, *, Key: Any, **_: Any) -> Mapping[str, Any]:
        item = self.items.get(Key["job"]["S"])
        return {} if item is None else {"Item": dict(item)}

    def batch_get_item(self, *, RequestItems: Any) -> Mapping[str, Any]:
        found = {
            table: [{"job": key["job"]} for key in wanted["Keys"] if key["job"]["S"] in self.items]
            for table, wanted in RequestItems.items()
        }
        return {"Responses": found}

    def put_item(self, **request: Any) -> None:
        job = request["Item"]["job"]["S"]
        self._check(request, self.items.get(job, {}))
        self.items[job] = dict(request["Item"])

    def update_item(self, **request: Any) -> None:
        job = request["Key"]["job"]["S"]
        item = self.items.get(job, {})
        self._check(request, item)
        names = request["ExpressionAttributeNames"]
        verb, _, rest = request["UpdateExpression"].partition(" ")
        item = dict(item) or {"job": request["Key"]["job"]}
        for part in rest.split(", "):
            if verb == "REMOVE":
                item.pop(names[part], None)
            else:
                name, _, value = part.partition(" = ")
                item[names[name]] = request["ExpressionAttributeValues"][value]
        self.items[job] = item

    def query(self, *, IndexName: str, ExpressionAttributeValues: Any, **_: Any) -> Mapping[str, Any]:
        wanted = ExpressionAttributeValues[":watch"]
        return {"Items": [{"job": item["job"]} for item in self.items.values() if item.get(IndexName) == wanted]}

    def _check(self, request: Any, item: Mapping[str, Any]) -> None:
        names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
        for condition in filter(None, request.get("ConditionExpression", "").split(" AND ")):
            there = re.fullmatch(r"attribute_(not_)?exists\((#\w+)\)", condition)
            if there:
                holds = (names[there.group(2)] in item) != bool(there.group(1))
            else:
                name, value = condition.split(" = ")
                holds = item.get(names[name]) == values[value]
            if not holds:
                raise rejected("ConditionalCheckFailedException")


@dataclass
class MemorySageMaker(Paged):
    """Training jobs."""

    jobs: dict[str, TrainingJob] = field(default_factory=lambda: {})

    def create_training_job(self, **request: Any) -> Mapping[str, Any]:
        name = request["TrainingJobName"]
        if name in self.jobs:
            raise rejected("ResourceInUse")
        self.jobs[name] = TrainingJob(request, f"arn:aws:sagemaker:us-west-2:111122223333:training-job/{name}")
        return {"TrainingJobArn": self.jobs[name].arn}

    def describe_training_job(self, *, TrainingJobName: str) -> Mapping[str, Any]:
        return reported_by(self._job(TrainingJobName))

    def list_tags(self, *, ResourceArn: str, **_: Any) -> Mapping[str, Any]:
        return {"Tags": self._job(ResourceArn.rpartition("/")[2]).tags}

    def stop_training_job(self, *, TrainingJobName: str) -> None:
        job = self._job(TrainingJobName)
        if job.reported["TrainingJobStatus"] in ("Completed", "Failed", "Stopped"):
            raise rejected("ValidationException", "The request was rejected")
        job.move("Stopping", "Stopping", "")

    def list_training_jobs(
        self, *, StatusEquals: str | None = None, LastModifiedTimeAfter: datetime = FAR_FUTURE
    ) -> Mapping[str, Any]:
        jobs = [reported_by(job) for job in self.jobs.values()]
        lately = [job for job in jobs if job["LastModifiedTime"] >= LastModifiedTimeAfter]
        return {"TrainingJobSummaries": [job for job in lately if StatusEquals in (None, job["TrainingJobStatus"])]}

    def _job(self, name: str) -> TrainingJob:
        if name not in self.jobs:
            raise rejected("ValidationException", "Requested resource not found.")
        return self.jobs[name]


def reported_by(job: TrainingJob) -> dict[str, Any]:
    """Return DescribeTrainingJob's response, with times as boto3 returns them."""
    reported = job.describe()
    times = {name: moment(value) for name, value in reported.items() if name.endswith("Time")}
    steps = [{**step, "StartTime": moment(step["StartTime"])} for step in reported["SecondaryStatusTransitions"]]
    return {**reported, **times, "SecondaryStatusTransitions": steps}


@dataclass
class MemoryCloudWatch(Paged):
    """Alarms."""

    now: Clock
    alarms: dict[str, dict[str, Any]] = field(default_factory=lambda: {})

    def put_metric_alarm(self, **request: Any) -> None:
        state = {"StateValue": "INSUFFICIENT_DATA", "StateUpdatedTimestamp": moment(self.now())}
        self.alarms[request["AlarmName"]] = {**state, **self.alarms.get(request["AlarmName"], {}), **request}

    def describe_alarms(self, *, AlarmNamePrefix: str) -> Mapping[str, Any]:
        return {"MetricAlarms": [alarm for name, alarm in self.alarms.items() if name.startswith(AlarmNamePrefix)]}

    def delete_alarms(self, *, AlarmNames: list[str]) -> None:
        for name in AlarmNames:
            self.alarms.pop(name, None)

    def set_alarm_state(self, *, AlarmName: str, StateValue: str, StateReason: str, StateReasonData: str) -> None:
        changed = {"StateValue": StateValue, "StateUpdatedTimestamp": moment(self.now())}
        self.alarms[AlarmName] |= {**changed, "StateReason": StateReason, "StateReasonData": StateReasonData}


@dataclass
class MemoryS3(Paged):
    """Objects of all buckets, by bucket and key: bytes and time."""

    now: Clock
    objects: dict[tuple[str, str], tuple[bytes, float]] = field(default_factory=lambda: {})

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> None:
        self.objects[Bucket, Key] = Body, self.now()

    def write(self, key: str, body: bytes) -> None:
        self.put_object(Bucket=BUCKET, Key=key, Body=body)

    def below(self, prefix: str) -> dict[str, bytes]:
        found = {key: data for (_, key), (data, _) in self.objects.items() if key.startswith(prefix)}
        return {key.removeprefix(prefix): data for key, data in found.items()}

    def copy(self, source: Mapping[str, str], bucket: str, key: str, **_: Any) -> None:
        if (source["Bucket"], source["Key"]) not in self.objects:
            raise rejected("404", "Not Found")
        self.objects[bucket, key] = self.objects[source["Bucket"], source["Key"]][0], self.now()

    def list_objects_v2(self, *, Bucket: str, Prefix: str) -> Mapping[str, Any]:
        found = [
            {"Key": key, "Size": len(data), "LastModified": moment(saved)}
            for (bucket, key), (data, saved) in sorted(self.objects.items())
            if bucket == Bucket and key.startswith(Prefix)
        ]
        return {"Contents": found} if found else {}


@dataclass
class MemorySNS:
    """Published messages."""

    published: list[Mapping[str, Any]] = field(default_factory=lambda: [])

    def publish(self, **request: Any) -> None:
        self.published.append(request)


def memory_aws(now: Clock) -> Any:
    """Return the services by name as the watch's clients, and the other attributes that a day reads."""
    sagemaker, cloudwatch, dynamodb, sns = MemorySageMaker(), MemoryCloudWatch(now), MemoryDynamoDB(), MemorySNS()
    s3 = MemoryS3(now)
    return SimpleNamespace(
        sagemaker=sagemaker,
        cloudwatch=cloudwatch,
        dynamodb=dynamodb,
        s3=s3,
        sns=sns,
        put=s3.write,
        read=s3.below,
        jobs=sagemaker.jobs,
        items=lambda: dynamodb.items,
        published=lambda: sns.published,
        alarms=lambda: cloudwatch.alarms,
    )
