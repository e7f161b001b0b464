"""What the watch was told at deployment, and a watched job's alarms: made while it trains, gone with it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

WATCH_TAG = "llm-fleet:watch"
_RESTARTS = 3
_BACKOFF, _BACKOFF_MOST = 60, 3600
_GRACE = 1800
_MARGIN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """How one job is treated."""

    max_restarts: int = _RESTARTS
    """Of one root job, all causes together; 0 only tells."""
    backoff_seconds: int = _BACKOFF
    """Wait before the first restart; doubles with each."""
    backoff_most_seconds: int = _BACKOFF_MOST
    restart_at_max_runtime: bool = False
    layout: str | Mapping[str, Any] = "any"
    """A name in layouts.json, or a layout of one's own."""
    grace_seconds: int = _GRACE
    """After training began; until then spikes, stalls and throughput are not believed."""
    onset_margin_seconds: int = _MARGIN
    """A checkpoint is complete at least so long before an alarm's first bad datapoint, or it is not trusted."""
    alarms: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Kind to its numbers."""

    def backoff(self, restart: int) -> int:
        """Return the seconds to wait before restart number `restart`, from 1."""
        return min(self.backoff_seconds * 2 ** (restart - 1), self.backoff_most_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A watch's settings."""

    prefixes: tuple[str, ...] = ()
    """Beginnings of the names of jobs that are watched whatever their tags."""
    clusters: tuple[str, ...] = ()
    """HyperPod clusters that are followed, by name; `*` is each."""
    everyone: Mapping[str, Any] = field(default_factory=lambda: {})
    jobs: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Beginning of names to what differs for these jobs; the longest wins, and replaces key by key."""

    @classmethod
    def read(cls, text: str) -> "Settings":
        """Read the document of the environment; keys that are not a job's are the watch's own."""
        document: dict[str, Any] = json.loads(text)
        return cls(
            prefixes=tuple(document.pop("prefixes", ())),
            clusters=tuple(document.pop("clusters", ())),
            jobs=document.pop("jobs", {}),
            everyone=document,
        )

    def of(self, job: str) -> JobSettings:
        """Return how a job is treated; `job` is its name, or that of the first of its line."""
        prefix = max((prefix for prefix in self.jobs if job.startswith(prefix)), key=len, default=None)
        return JobSettings(**{**self.everyone, **(self.jobs[prefix] if prefix is not None else {})})

    def follows_cluster(self, name: str) -> bool:
        """Whether a HyperPod cluster's events are told."""
        return "*" in self.clusters or name in self.clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedEnvironment:
    """The environment of the function."""

    watch: str
    """Name of the watch: value of its tag, part of its alarms' names."""
    table: str
    queue_url: str
    topic_arn: str
    settings: Settings

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "DeployedEnvironment":
        """Read the variables; raises `KeyError` for one that is missing."""
        return cls(
            watch=environment["WATCH"],
            table=environment["TABLE"],
            queue_url=environment["QUEUE_URL"],
            topic_arn=environment["TOPIC_ARN"],
            settings=Settings.read(environment["SETTINGS"]),
        )

    @property
    def alarm_prefix(self) -> str:
        """What the names of the watch's alarms begin with; the slash keeps one watch's apart from another's."""
        return f"llm-fleet/{self.watch}/"

    def may_watch(self, job: str) -> bool:
        """Whether a job of that name can be one of the watch's: only those may be asked for, where prefixes tell."""
        return job.startswith(self.settings.prefixes or "")

    def watches(self, job: str, tags: Mapping[str, str]) -> bool:
        """Whether a job is one of the watch's: by its tag, or without one by its name."""
        if WATCH_TAG in tags:
            return tags[WATCH_TAG] == self.watch
        return job.startswith(self.settings.prefixes)


_TIME = "%Y-%m-%dT%H:%M:%S.%f%z"
_ABOVE = ("GreaterThanThreshold", "GreaterThanOrEqualToThreshold")


def onset_of(alarm: Mapping[str, Any]) -> float:
    """Return when the first bad datapoint began, in seconds since 1970, for an alarm that is on.

    DescribeAlarms' answer: the alarm was bad for as many periods as it asks for before it went on, and may name the
    datapoints that it looked at; one that was made late goes on late for what was bad before.
    """
    changed: datetime = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
    periods = [query["MetricStat"]["Period"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
    period = max([alarm.get("Period") or 0, *periods])
    requested = changed.timestamp() - period * (alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"])
    return min([requested, *_bad_datapoints(alarm)])


def _bad_datapoints(alarm: Mapping[str, Any]) -> Iterator[float]:
    # StateReasonData is JSON whose form only examples show (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/
    # cloudwatch-and-eventbridge.html): what is not as there is passed over.
    try:
        points = json.loads(alarm.get("StateReasonData") or "{}").get("evaluatedDatapoints", [])
        above, threshold = alarm["ComparisonOperator"] in _ABOVE, float(alarm["Threshold"])
        for point in points:
            value = float(point["value"])
            if (value > threshold) if above else (value < threshold):
                yield datetime.strptime(point["timestamp"], _TIME).timestamp()
    except (ValueError, TypeError, KeyError, AttributeError):
        return


NAMESPACE = "/aws/sagemaker/TrainingJobs"
DIMENSION = "TrainingJobName"
"""Where SageMaker puts what metric definitions find; the SageMaker SDK's TrainingJobAnalytics reads it there."""
KINDS = ("loss-spike", "stall", "nan", "throughput")
_AT_ONCE = 100
"""Alarms that one DeleteAlarms takes."""


def alarm_name(prefix: str, job: str, kind: str) -> str:
    """Return an alarm's name; neither jobs nor kinds have a slash."""
    return f"{prefix}{job}/{kind}"


def job_of_alarm(name: str, prefix: str) -> str | None:
    """Return the job that an alarm is of, or nothing when it is none of the watch's."""
    job, slash, kind = name.removeprefix(prefix).partition("/")
    return job if name.startswith(prefix) and slash and kind in KINDS else None


def wanted_alarms(job: str, prefix: str, metrics: frozenset[str], settings: JobSettings) -> Iterator[dict[str, Any]]:
    """Yield PutMetricAlarm's requests, for those metrics that the job's log is searched for."""
    for kind, numbers in settings.alarms.items():
        if numbers["metric"] in metrics:
            yield {
                "AlarmName": alarm_name(prefix, job, kind),
                "AlarmDescription": f"{kind} of training job {job}: {numbers['metric']}",
                **_SHAPES[kind](_metric(job, numbers["metric"]), numbers),
            }


def unmeasured(metrics: frozenset[str], settings: JobSettings) -> list[str]:
    """Return what the watch should look for in a job's log and the job does not say how to find."""
    return sorted({numbers["metric"] for numbers in settings.alarms.values()} - metrics)


def _spike(metric: dict[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_ratio(metric, numbers, "m1 / MIN(m1)"),
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": numbers["factor"],
    }


def _throughput(metric: dict[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_ratio(metric, numbers, "m1 / MAX(m1)"),
        "ComparisonOperator": "LessThanThreshold",
        "Threshold": numbers["fraction"],
    }


def _ratio(metric: dict[str, Any], numbers: Mapping[str, Any], expression: str) -> dict[str, Any]:
    # A scalar of metric math covers the periods that the alarm looks at, not the job's whole life.
    stat = {"Metric": metric, "Period": numbers["period"], "Stat": "Average"}
    return {
        "Metrics": [
            {"Id": "m1", "MetricStat": stat, "ReturnData": False},
            {"Id": "ratio", "Expression": expression, "Label": "ratio", "ReturnData": True},
        ],
        "EvaluationPeriods": numbers["periods"],
        "DatapointsToAlarm": numbers["datapoints"],
        "TreatMissingData": "notBreaching",
    }


def _stall(metric: dict[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_samples(metric, numbers["period"], numbers["periods"]),
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "breaching",
    }


def _nan(metric: dict[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    # Its metric has a sample on a bad line and none on a good one: no later sample may turn the alarm off again.
    return {
        **_samples(metric, numbers["period"], 1),
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "ignore",
    }


def _samples(metric: dict[str, Any], period: int, periods: int) -> dict[str, Any]:
    return {
        **metric,
        "Statistic": "SampleCount",
        "Period": period,
        "EvaluationPeriods": periods,
        "DatapointsToAlarm": periods,
        "Threshold": 1.0,
    }


def _metric(job: str, name: str) -> dict[str, Any]:
    return {"Namespace": NAMESPACE, "MetricName": name, "Dimensions": [{"Name": DIMENSION, "Value": job}]}


_SHAPES = {"loss-spike": _spike, "stall": _stall, "nan": _nan, "throughput": _throughput}


class JobAlarms:
    """The watch's alarms in CloudWatch."""

    def __init__(self, cloudwatch: "CloudWatchClient", prefix: str) -> None:
        """`prefix`: what their names begin with, with its slash."""
        self._cloudwatch = cloudwatch
        self._prefix = prefix

    def put(self, job: str, metrics: frozenset[str], settings: JobSettings) -> None:
        """Make a job's alarms, or make them anew: the same request changes nothing."""
        for request in wanted_alarms(job, self._prefix, metrics, settings):
            self._cloudwatch.put_metric_alarm(**request)

    def firing(self, job: str) -> dict[str, float]:
        """Return what is on for a job: kind to the time of the first bad datapoint, in seconds since 1970."""
        found: dict[str, float] = {}
        pages = self._cloudwatch.get_paginator("describe_alarms")
        for page in pages.paginate(AlarmNamePrefix=f"{self._prefix}{job}/"):
            for alarm in cast("list[dict[str, Any]]", page["MetricAlarms"]):
                if alarm["StateValue"] == "ALARM":
                    found[alarm["AlarmName"].rpartition("/")[2]] = onset_of(alarm)
        return found

    def delete(self, job: str) -> None:
        """Delete a job's alarms, those that are there."""
        names = self._names(f"{self._prefix}{job}/")
        for first in range(0, len(names), _AT_ONCE):
            self._cloudwatch.delete_alarms(AlarmNames=names[first : first + _AT_ONCE])

    def jobs(self) -> set[str]:
        """Return the jobs that have alarms of the watch."""
        found = {job_of_alarm(name, self._prefix) for name in self._names(self._prefix)}
        return {job for job in found if job is not None}

    def _names(self, prefix: str) -> list[str]:
        pages = self._cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
        return [alarm.get("AlarmName", "") for page in pages for alarm in page["MetricAlarms"]]
