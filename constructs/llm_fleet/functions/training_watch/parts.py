"""All that a run of the watch works with; what is not AWS's can be another's in a test."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from .job_alarms import JobAlarms
from .record import Record
from .settings import Surroundings

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
    """One client a service."""

    sagemaker: "SageMakerClient"
    cloudwatch: "CloudWatchClient"
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sns: "SNSClient"
    sqs: "SQSClient"

    @classmethod
    def make(cls) -> "Clients":
        """Return clients of the function's own region and role."""
        return cls(
            sagemaker=boto3.client("sagemaker", config=_CONFIG),
            cloudwatch=boto3.client("cloudwatch", config=_CONFIG),
            dynamodb=boto3.client("dynamodb", config=_CONFIG),
            s3=boto3.client("s3", config=_CONFIG),
            sns=boto3.client("sns", config=_CONFIG),
            sqs=boto3.client("sqs", config=_CONFIG),
        )


LONGEST_DELAY = 900
"""Seconds that SQS delays a message at most: API_SendMessage, DelaySeconds. A longer wait is several messages."""


class Later:
    """The watch's queue, as the watch writes to it."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        """`queue_url`: of a standard queue; a FIFO queue delays no single message."""
        self._sqs = sqs
        self._queue_url = queue_url

    def look(self, job: str, *, seconds: float = 0, again: bool = True) -> None:
        """Ask for a look at a job in so many seconds, or after the longest delay when it is more."""
        self._sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=json.dumps({"kind": "look", "job": job, "again": again}),
            DelaySeconds=min(LONGEST_DELAY, max(0, math.ceil(seconds))),
        )


_LONGEST_SUBJECT = 100
"""Of an SNS message's subject: API_Publish, which also wants ASCII without line ends."""


class Teller:
    """The watch's topic."""

    def __init__(self, sns: "SNSClient", topic_arn: str, watch: str) -> None:
        """`watch`: its name, which each message says."""
        self._sns = sns
        self._topic_arn = topic_arn
        self._watch = watch

    def tell(self, *, about: str, what: str, words: Mapping[str, str | None]) -> None:
        """Publish a message; `what` is one word that subscriptions can filter by, as they can by job and watch.

        After a crash the same may be told twice, and never not at all: it is recorded as told afterwards.
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
    """One run's surroundings, clients and clock."""

    surroundings: Surroundings
    clients: Clients
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    in_time: Callable[[], bool] = lambda: True
    """Whether there is time left in this run for another object's copy."""
    copy_threads: int = 8

    @property
    def record(self) -> Record:
        """The table."""
        return Record(self.clients.dynamodb, self.surroundings.table, self.surroundings.watch)

    @property
    def alarms(self) -> JobAlarms:
        """The watch's alarms."""
        return JobAlarms(self.clients.cloudwatch, self.surroundings.alarm_prefix)

    @property
    def teller(self) -> Teller:
        """The topic."""
        return Teller(self.clients.sns, self.surroundings.topic_arn, self.surroundings.watch)

    @property
    def later(self) -> Later:
        """The queue."""
        return Later(self.clients.sqs, self.surroundings.queue_url)
