"""Settings of the watch from its deployment, and alarms of watched jobs, which exist while a job trains."""

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
    """Settings of one job."""

    max_restarts: int = _RESTARTS
    """Maximum restarts of a series, for all causes together; 0: only publish."""
    backoff_seconds: int = _BACKOFF
    """Delay before the first restart; it doubles with each restart."""
    backoff_most_seconds: int = _BACKOFF_MOST
    restart_at_max_runtime: bool = False
    layout: str | Mapping[str, Any] = "any"
    """A name in layouts.json, or a custom layout."""
    grace_seconds: int = _GRACE
    """Seconds after the start of training in which spikes, stalls and throughput are ignored."""
    onset_margin_seconds: int = _MARGIN
    """Minimum seconds between a complete checkpoint and an alarm's first bad data point."""
    alarms: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Settings of alarms by kind."""

    def backoff(self, restart: int) -> int:
        """Return the delay in seconds before restart number `restart`, from 1."""
        return min(self.backoff_seconds * 2 ** (restart - 1), self.backoff_most_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a watch."""

    prefixes: tuple[str, ...] = ()
    """Name prefixes of jobs that are watched regardless of their tags."""
    clusters: tuple[str, ...] = ()
    """Followed HyperPod clusters by name; `*`: all."""
    everyone: Mapping[str, Any] = field(default_factory=lambda: {})
    jobs: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    """Overrides by name prefix; the longest matching prefix wins, and replaces single keys."""

    @classmethod
    def read(cls, text: str) -> "Settings":
        """Read the JSON document of the environment; keys that are not of a job are of the watch."""
        document: dict[str, Any] = json.loads(text)
        return cls(
            prefixes=tuple(document.pop("prefixes", ())),
            clusters=tuple(document.pop("clusters", ())),
            jobs=document.pop("jobs", {}),
            everyone=document,
        )

    def of(self, job: str) -> JobSettings:
        """Return the settings of a job; `job` is its name, or that of the first job of the series."""
        prefix = max((prefix for prefix in self.jobs if job.startswith(prefix)), key=len, default=None)
        return JobSettings(**{**self.everyone, **(self.jobs[prefix] if prefix is not None else {})})

    def follows_cluster(self, name: str) -> bool:
        """Whether a HyperPod cluster's events are published."""
        return "*" in self.clusters or name in self.clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedEnvironment:
    """Environment variables of the Lambda function."""

    watch: str
    """Name of the watch: value of the tag, part of alarm names."""
    table: str
    queue_url: str
    topic_arn: str
    settings: Settings

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "DeployedEnvironment":
        """Read the variables. Raises `KeyError` for a missing one."""
        return cls(
            watch=environment["WATCH"],
            table=environment["TABLE"],
            queue_url=environment["QUEUE_URL"],
            topic_arn=environment["TOPIC_ARN"],
            settings=Settings.read(environment["SETTINGS"]),
        )

    @property
    def alarm_prefix(self) -> str:
        """Prefix of the watch's alarms; the slash separates the names of different watches."""
        return f"llm-fleet/{self.watch}/"

    def may_watch(self, job: str) -> bool:
        """Whether the watch can watch a job of that name: with prefixes, it can read only matching jobs."""
        return job.startswith(self.settings.prefixes or "")

    def watches(self, job: str, tags: Mapping[str, str]) -> bool:
        """Whether the watch watches a job: by its tag, or without one by its name."""
        if WATCH_TAG in tags:
            return tags[WATCH_TAG] == self.watch
        return job.startswith(self.settings.prefixes)


_TIME = "%Y-%m-%dT%H:%M:%S.%f%z"
_ABOVE = ("GreaterThanThreshold", "GreaterThanOrEqualToThreshold")


def onset_of(alarm: Mapping[str, Any]) -> float:
    """Return the start of the first bad data point, in seconds since 1970, of an alarm in state ALARM.

    `alarm` is from DescribeAlarms: before its state change, data points were bad for its number of periods, and
    StateReasonData may list them; an alarm that was created late changes late.
    """
    changed: datetime = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
    periods = [query["MetricStat"]["Period"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
    period = max([alarm.get("Period") or 0, *periods])
    onset = changed.timestamp() - period * (alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"])
    return min([onset, *_bad_datapoints(alarm)])


def _bad_datapoints(alarm: Mapping[str, Any]) -> Iterator[float]:
    # StateReasonData is JSON whose form only examples show (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/
    # cloudwatch-and-eventbridge.html): other forms are ignored.
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
"""Namespace of metrics from metric definitions; the SageMaker SDK's TrainingJobAnalytics reads it."""
KINDS = ("loss-spike", "stall", "nan", "throughput")
_AT_ONCE = 100
"""Maximum alarms of one DeleteAlarms."""


def alarm_name(prefix: str, job: str, kind: str) -> str:
    """Return an alarm's name; job names and kinds have no slashes."""
    return f"{prefix}{job}/{kind}"


def job_of_alarm(name: str, prefix: str) -> str | None:
    """Return the job of an alarm, or `None` for an alarm that is not of this watch."""
    job, slash, kind = name.removeprefix(prefix).partition("/")
    return job if name.startswith(prefix) and slash and kind in KINDS else None


def wanted_alarms(job: str, prefix: str, metrics: frozenset[str], settings: JobSettings) -> Iterator[dict[str, Any]]:
    """Yield requests of PutMetricAlarm, for metrics that the job defines."""
    for kind, numbers in settings.alarms.items():
        if numbers["metric"] in metrics:
            yield {
                "AlarmName": alarm_name(prefix, job, kind),
                "AlarmDescription": f"{kind} of training job {job}: {numbers['metric']}",
                **_SHAPES[kind](_metric(job, numbers["metric"]), numbers),
            }


def unmeasured(metrics: frozenset[str], settings: JobSettings) -> list[str]:
    """Return the metrics of the settings that the job does not define."""
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
    # A scalar of metric math covers only the alarm's evaluation window, not the whole job.
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
    # Its metric has a sample only for a bad line, so that no later sample resets the alarm.
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
    """Alarms of watched jobs in CloudWatch."""

    def __init__(self, cloudwatch: "CloudWatchClient", prefix: str) -> None:
        """`prefix`: prefix of alarm names, including the slash."""
        self._cloudwatch = cloudwatch
        self._prefix = prefix

    def put(self, job: str, metrics: frozenset[str], settings: JobSettings) -> None:
        """Create or update a job's alarms; the same request changes nothing."""
        for request in wanted_alarms(job, self._prefix, metrics, settings):
            self._cloudwatch.put_metric_alarm(**request)

    def firing(self, job: str) -> dict[str, float]:
        """Return a job's alarms in state ALARM: time of the first bad data point, in seconds since 1970, by kind."""
        found: dict[str, float] = {}
        pages = self._cloudwatch.get_paginator("describe_alarms")
        for page in pages.paginate(AlarmNamePrefix=f"{self._prefix}{job}/"):
            for alarm in cast("list[dict[str, Any]]", page["MetricAlarms"]):
                if alarm["StateValue"] == "ALARM":
                    found[alarm["AlarmName"].rpartition("/")[2]] = onset_of(alarm)
        return found

    def delete(self, job: str) -> None:
        """Delete a job's existing alarms."""
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
