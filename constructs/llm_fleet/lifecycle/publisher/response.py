"""Answers CloudFormation, which waits for a PUT on the address that it sent with its request."""

import json
import urllib.request
from dataclasses import dataclass, field
from typing import Any

_REASON_LIMIT = 1000
_TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class Answer:
    """How the request ended."""

    physical_id: str
    """What CloudFormation knows the resource by; a new one makes it ask to delete the old."""
    data: dict[str, str] = field(default_factory=dict[str, str])
    """Attributes for `Fn::GetAtt`."""
    failure: str | None = None
    """What went wrong, for the stack's events; `None` for success."""


def send(event: dict[str, Any], answer: Answer) -> None:
    """Send CloudFormation the result of `event`. Raises `OSError` when that fails, so that Lambda tries again."""
    body = {
        "Status": "SUCCESS" if answer.failure is None else "FAILED",
        "Reason": (answer.failure or "published")[:_REASON_LIMIT],
        "PhysicalResourceId": answer.physical_id,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": answer.data,
    }
    request = urllib.request.Request(  # noqa: S310 - the address is CloudFormation's own, signed
        event["ResponseURL"],
        data=json.dumps(body).encode(),
        method="PUT",
        headers={"Content-Type": ""},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):  # noqa: S310
        pass
