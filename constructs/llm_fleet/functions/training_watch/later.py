"""The watch's own messages to its queue: look again, now or later."""

import json
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

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
