"""Passes messages of SQS queues to the functions that they are mapped to, as Lambda's pollers do.

Source: model botocore lambda CreateEventSourceMappingRequest
"""

from collections.abc import Callable, Iterator
from typing import Any

_LONGEST_BATCH = 10
"""Maximum number of messages of one ReceiveMessage."""


class QueueDelivery:
    """Delivers messages when a test calls it."""

    def __init__(self, client: Callable[[str, str | None], Any], invoke: Callable[..., dict[str, Any]]) -> None:
        """Call services through `client`, run functions with `invoke` (see `LocalAws`)."""
        self._client = client
        self._invoke = invoke

    def deliver(self, function_name: str, region: str) -> list[dict[str, Any]]:
        """Run the function on all waiting messages and return the runs; see `LocalAws.deliver`."""
        mappings = self._client("lambda", region).list_event_source_mappings(FunctionName=function_name)
        return [
            run
            for mapping in mappings["EventSourceMappings"]
            for run in self._batches(function_name, mapping["EventSourceArn"], mapping["BatchSize"], region)
        ]

    def _batches(self, function_name: str, queue_arn: str, size: int, region: str) -> Iterator[dict[str, Any]]:
        sqs = self._client("sqs", region)
        url = sqs.get_queue_url(QueueName=queue_arn.rsplit(":", 1)[-1])["QueueUrl"]
        requested: dict[str, Any] = {
            "QueueUrl": url,
            "MaxNumberOfMessages": min(size, _LONGEST_BATCH),
            "AttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
        }
        while messages := sqs.receive_message(**requested).get("Messages", []):
            records = [_record(message, queue_arn, region) for message in messages]
            run = self._invoke(function_name, {"Records": records}, region=region)
            failed = _failed(run, records)
            for message in messages:
                if message["MessageId"] not in failed:
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            yield run


def _record(message: dict[str, Any], queue_arn: str, region: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": message.get("MessageAttributes", {}),
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }


def _failed(run: dict[str, Any], records: list[dict[str, Any]]) -> set[str]:
    """Return the ids that stay in the queue: all of a batch whose run raised, or those that the handler reports."""
    if not run["ended_well"]:
        return {record["messageId"] for record in records}
    returned: dict[str, Any] = run["returned"] or {}
    reported: list[dict[str, str]] = returned.get("batchItemFailures", [])
    return {failure["itemIdentifier"] for failure in reported}
