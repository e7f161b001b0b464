"""Clients and settings of a run of the watch, which tests can replace; and HyperPod's node and cluster events.

Duplicate events are detected, and each event is published once. The watch restarts nothing on clusters: HyperPod
replaces nodes itself, and Slurm or Kubernetes requeue their jobs.
"""

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .decide import Record
from .settings import DeployedEnvironment, JobAlarms

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

_CONFIG = Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 5, "mode": "standard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """One boto3 client for each service."""

    sagemaker: "SageMakerClient"
    cloudwatch: "CloudWatchClient"
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sns: "SNSClient"
    sqs: "SQSClient"

    @classmethod
    def make(cls) -> "Clients":
        """Return clients with the function's region and role."""
        return cls(
            sagemaker=boto3.client("sagemaker", config=_CONFIG),
            cloudwatch=boto3.client("cloudwatch", config=_CONFIG),
            dynamodb=boto3.client("dynamodb", config=_CONFIG),
            s3=boto3.client("s3", config=_CONFIG),
            sns=boto3.client("sns", config=_CONFIG),
            sqs=boto3.client("sqs", config=_CONFIG),
        )


LONGEST_DELAY = 900
"""Maximum delay of an SQS message: API_SendMessage, DelaySeconds. A longer wait takes several messages."""


class Later:
    """Writes delayed messages to the watch's queue."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        """`queue_url`: of a standard queue; a FIFO queue cannot delay single messages."""
        self._sqs = sqs
        self._queue_url = queue_url

    def look(self, job: str, *, seconds: float = 0, again: bool = True) -> None:
        """Send a message to check a job after `seconds`, at most after the longest delay."""
        self._sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=json.dumps({"kind": "look", "job": job, "again": again}),
            DelaySeconds=min(LONGEST_DELAY, max(0, math.ceil(seconds))),
        )


_LONGEST_SUBJECT = 100
"""Maximum length of an SNS subject: API_Publish, which also requires ASCII without line breaks."""


class Notifier:
    """Publishes to the watch's topic."""

    def __init__(self, sns: "SNSClient", topic_arn: str, watch: str) -> None:
        """`watch`: its name, which each message has."""
        self._sns = sns
        self._topic_arn = topic_arn
        self._watch = watch

    def publish(self, *, about: str, what: str, words: Mapping[str, str | None]) -> None:
        """Publish a message; subscriptions can filter by `what`, job and watch.

        It is recorded after publishing: after a crash, a message may be published twice, but is never lost.
        """
        subject = f"{what}: {about}".encode("ascii", "replace").decode()[:_LONGEST_SUBJECT]
        lines = [f"{name}: {value}" for name, value in words.items() if value is not None]
        named = {"watch": self._watch, "about": about, "what": what}
        self._sns.publish(
            TopicArn=self._topic_arn,
            Subject=subject,
            Message="\n".join([subject, "", *lines, f"watch: {self._watch}"]),
            MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in named.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One run of the function: its settings, clients and clock."""

    deployed_environment: DeployedEnvironment
    clients: Clients
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    in_time: Callable[[], bool] = lambda: True
    """Whether this invocation has time left to copy another object."""
    copy_threads: int = 8

    @property
    def record(self) -> Record:
        """The table of decisions."""
        return Record(self.clients.dynamodb, self.deployed_environment.table, self.deployed_environment.watch)

    @property
    def alarms(self) -> JobAlarms:
        """Alarms of watched jobs."""
        return JobAlarms(self.clients.cloudwatch, self.deployed_environment.alarm_prefix)

    @property
    def notifier(self) -> Notifier:
        """Publishes to the watch's topic."""
        return Notifier(self.clients.sns, self.deployed_environment.topic_arn, self.deployed_environment.watch)

    @property
    def later(self) -> Later:
        """Sends delayed messages to the watch's queue."""
        return Later(self.clients.sqs, self.deployed_environment.queue_url)


STATE = "SageMaker HyperPod Cluster State Change"
HEALTH = "SageMaker HyperPod Cluster Node Health Event"
EVENT = "SageMaker HyperPod Cluster Event"
_NONE: Mapping[str, Any] = {}
_SAME_WITHIN = 300
"""Seconds within which equal events count as one, because HyperPod sends them in pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvent:
    """The content of one HyperPod event."""

    kind: str
    """Its detail type."""
    cluster: str
    """Name."""
    cluster_arn: str
    event_id: str | None
    """Id for DescribeClusterEvent; only a "Cluster Event" has one."""
    level: str
    """Info, Warn or Error; for other kinds it is derived from the status."""
    what: str
    """Description of the event."""
    instance: str | None = None
    group: str | None = None
    time: str = ""
    """ISO 8601, from EventBridge."""
    failure: str | None = None
    """Most events omit it; DescribeClusterEvent returns it."""

    @property
    def called(self) -> str:
        """Identifier for API calls: the ARN if the event has it, since the function's role allows only ARNs."""
        return self.cluster_arn or self.cluster

    @property
    def key(self) -> str:
        """The event's key in the table; both events of a pair have the same key, even with different ids."""
        said = "|".join((self.kind, self.level, self.what, self.group or "", self.instance or "", self._when))
        return f"hyperpod/{self.cluster}/{hashlib.sha256(said.encode()).hexdigest()[:24]}"

    @property
    def _when(self) -> str:
        hour, _, rest = self.time.partition(":")
        minute, _, _ = rest.partition(":")
        return f"{hour}:{int(minute) * 60 // _SAME_WITHIN}" if minute.isdigit() else self.time


def parse_cluster_event(body: Mapping[str, Any], detail: Mapping[str, Any]) -> ClusterEvent | None:
    """Return the content of an EventBridge event, or `None` for one that is not from HyperPod."""
    kind = str(body.get("detail-type"))
    time = str(body.get("time", ""))
    if kind == STATE:
        return _state(kind, detail, time)
    if kind == HEALTH:
        return _health(kind, detail, time)
    return _event(kind, detail.get("EventDetails") or detail, time) if kind == EVENT else None


def _state(kind: str, detail: Mapping[str, Any], time: str) -> ClusterEvent:
    status = str(detail.get("ClusterStatus"))
    level = "Error" if status in ("Failed", "RollingBack") else "Info"
    what, failure = f"cluster is {status}", detail.get("FailureMessage")
    return ClusterEvent(
        kind=kind, **_cluster(detail), event_id=None, level=level, what=what, time=time, failure=failure
    )


def _health(kind: str, detail: Mapping[str, Any], time: str) -> ClusterEvent:
    summary: Mapping[str, Any] = detail.get("HealthSummary") or _NONE
    status = str(summary.get("HealthStatus"))
    words = (f"node is {status}", summary.get("HealthStatusReason"), summary.get("RepairAction"))
    return ClusterEvent(
        kind=kind,
        **_cluster(detail),
        event_id=None,
        level="Info" if status == "Schedulable" else "Error",
        what=": ".join(str(word) for word in words if word),
        instance=detail.get("InstanceId"),
        time=time,
    )


def _event(kind: str, detail: Mapping[str, Any], time: str) -> ClusterEvent:
    return ClusterEvent(
        kind=kind,
        **_cluster(detail),
        event_id=detail.get("EventId"),
        level=str(detail.get("EventLevel", "Info")),
        what=str(detail.get("Description") or "an event without a description"),
        instance=detail.get("InstanceId"),
        group=detail.get("InstanceGroupName"),
        time=time,
        failure=failure_of(detail),
    )


def failure_of(detail: Mapping[str, Any]) -> str | None:
    """Return all failure messages in a cluster event's metadata."""
    parts: list[Mapping[str, Any]] = [part for part in metadata_of(detail).values() if part]
    return "; ".join(part["FailureMessage"] for part in parts if part.get("FailureMessage")) or None


def metadata_of(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a cluster event's metadata of cluster, group, scaling and instance; empty if missing."""
    inner: Mapping[str, Any] = detail.get("EventDetails") or _NONE
    return inner.get("EventMetadata") or _NONE


def _cluster(detail: Mapping[str, Any]) -> dict[str, str]:
    arn = str(detail.get("ClusterArn", ""))
    return {"cluster": str(detail.get("ClusterName") or arn.rpartition("/")[2]), "cluster_arn": arn}


_LOG = logging.getLogger(__name__)
_REPORTED = ("Warn", "Error")


def look_at_cluster(parts: Parts, event: ClusterEvent) -> None:
    """Record and publish an event of a followed cluster, unless it was published before or is only noise."""
    if not parts.deployed_environment.settings.follows_cluster(event.cluster):
        return
    if event.level not in _REPORTED and event.kind == EVENT:
        return
    entry = parts.record.read(event.key)
    if entry is not None and entry.text("reported") is not None:
        return
    detail = _detail(parts, event)
    event = replace(event, failure=event.failure or failure_of(detail) or _state_failure(parts, event))
    words = {"level": event.level, "what": event.what, "failure": event.failure}
    words |= {"group": event.group, "instance": event.instance, "time": event.time}
    noise = is_scale_in(event, detail)
    if entry is None:
        known = {name: value for name, value in words.items() if value}
        parts.record.begin(
            event.key, {"cluster": event.cluster, "kind": event.kind, "noise": str(noise), **known}, to_do=False
        )
    if not noise:
        parts.notifier.publish(about=event.cluster, what="cluster", words=words)
    parts.record.note(event.key, "reported", "noise" if noise else "reported")


def is_scale_in(event: ClusterEvent, detail: Mapping[str, Any]) -> bool:
    """Whether a warning only reports a node that is removed because of a lower target count."""
    if event.level != "Warn":
        return False
    scaling: Mapping[str, Any] = metadata_of(detail).get("InstanceGroupScaling") or _NONE
    wanted, there = scaling.get("TargetCount"), scaling.get("InstanceCount")
    return wanted is not None and there is not None and wanted < there and not scaling.get("FailureMessage")


def _detail(parts: Parts, event: ClusterEvent) -> Mapping[str, Any]:
    """Return DescribeClusterEvent's response; empty if it has none, as without continuous provisioning."""
    if event.event_id is None:
        return {}
    try:
        answer = parts.clients.sagemaker.describe_cluster_event(ClusterName=event.called, EventId=event.event_id)
    except ClientError as error:
        if _passes(error):
            raise
        _LOG.warning("DescribeClusterEvent failed for event %s of %s: %s", event.event_id, event.cluster, error)
        return {}
    return cast(Mapping[str, Any], answer.get("EventDetails", {}))


def _state_failure(parts: Parts, event: ClusterEvent) -> str | None:
    if event.kind != STATE or event.level != "Error":
        return None
    try:
        return parts.clients.sagemaker.describe_cluster(ClusterName=event.called).get("FailureMessage")
    except ClientError as error:
        if _passes(error):
            raise
        return None


def _passes(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code", "").startswith("Throttling")
