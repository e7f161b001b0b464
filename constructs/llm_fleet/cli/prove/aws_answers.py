"""Sends calls of experiments to AWS, and keeps what AWS answers: request id, time by AWS's clock, error."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.cli.clients import refusal
from llm_fleet.rules.feature_codes import CommandCode

if TYPE_CHECKING:
    from llm_fleet.cli.clients import AwsClients

_NO_ANSWER = frozenset(code for code in CommandCode if code.is_of_aws) - {CommandCode.GONE, CommandCode.REFUSED}
"""Kinds of errors that do not depend on the request's content, so they say nothing about a claim."""
ENDS_A_RUN = frozenset({CommandCode.NO_CREDENTIALS, CommandCode.EXPIRED, CommandCode.INVALID_CREDENTIALS})
"""Kinds of errors after which the next call fails, too."""
_FIRST_SERVER_ERROR = 500
_IS_NO_ANSWER = re.compile(r"Max attempts exceeded|(?i:not authorized|access denied|throttl)")
"""Reasons of a failed waiter that say nothing about a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An error instead of a response."""

    kind: CommandCode
    code: str
    """AWS's code; the name of boto3's exception for a request that AWS did not answer."""
    message: str
    is_an_answer: bool
    """Whether AWS rejected the request because of its content."""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What AWS answered to one call."""

    call: str
    region: str
    response: Mapping[str, Any]
    """Empty if the call was refused."""
    refused: Refused | None
    request_id: str
    """Empty if AWS did not answer."""
    time: str
    """By AWS's clock, as in the HTTP header `Date`; empty if AWS did not answer."""
    seconds: float
    """By this machine's clock."""


def send(clients: AwsClients, call: str, arguments: Mapping[str, Any]) -> Answer:
    """Make the call `<service>:<Operation>`, with all pages of its response. An error of AWS is in the answer."""
    operation = call.partition(":")[2]

    def ask(client: Any) -> Mapping[str, Any]:
        from botocore import xform_name

        method = xform_name(operation)
        given = _as_strings(client.meta.service_model.operation_model(operation).input_shape, dict(arguments))
        if call == "s3:CreateBucket" and clients.region != _WITHOUT_CONSTRAINT:
            given |= {"CreateBucketConfiguration": {"LocationConstraint": clients.region}}
        if client.can_paginate(method):
            return client.get_paginator(method).paginate(**given).build_full_result()
        return getattr(client, method)(**given)

    return _answer(clients, call, ask)


_WITHOUT_CONSTRAINT = "us-east-1"
"""Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html (2026-11)"""


MOST_DELAY = 5.0
"""Seconds between the calls of a waiter, at most: boto3's are 30 for stacks, whose free resources take a few."""


def wait_for(clients: AwsClients, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Wait with boto3's waiter `name`, e.g. `cloudformation:stack_create_complete`. A state that cannot succeed is a
    refusal.
    """

    def ask(client: Any) -> Mapping[str, Any]:
        waiter = client.get_waiter(name.partition(":")[2])
        longest = waiter.config.delay * waiter.config.max_attempts
        delay = min(waiter.config.delay, MOST_DELAY)
        waiter.wait(**arguments, WaiterConfig={"Delay": delay, "MaxAttempts": max(1, int(longest / delay))})
        return {}

    return _answer(clients, name, ask)


def _answer(clients: AwsClients, call: str, ask: Callable[[Any], Mapping[str, Any]]) -> Answer:
    began = time.monotonic()
    response: Mapping[str, Any] = {}
    metadata: dict[str, Any] = {}
    refused = None

    def keep(parsed: Mapping[str, Any], **_: Any) -> None:
        # Of the last page, or the last call of a waiter.
        metadata.update(parsed.get("ResponseMetadata", {}))

    try:
        client = clients.client(call.partition(":")[0])
        client.meta.events.register("after-call", keep)
        try:
            response = ask(client)
        finally:
            client.meta.events.unregister("after-call", keep)
    except Exception as error:
        refused = _refused(error, call)
    return Answer(
        call=call,
        region=clients.region,
        response={key: value for key, value in response.items() if key != "ResponseMetadata"},
        refused=refused,
        request_id=str(metadata.get("RequestId", "")),
        time=str(metadata.get("HTTPHeaders", {}).get("date", "")),
        seconds=round(time.monotonic() - began, 3),
    )


def _refused(error: Exception, call: str) -> Refused:
    """Return the refusal. Raises `error` if it is not of AWS or boto3."""
    last = cast("dict[str, Any]", getattr(error, "last_response", None) or {})
    if "Error" in last:  # A call of a waiter failed.
        from botocore.exceptions import ClientError

        return _refused(ClientError(cast(Any, last), call), call)
    found = getattr(error, "problems", None)
    problem = found[0] if found else refusal(error)
    if problem is None:
        raise error
    response = cast("dict[str, Any]", getattr(error, "response", None) or {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    kind = cast(CommandCode, problem.code)
    reported = response.get("Error", {})
    failed = bool(last) and not _IS_NO_ANSWER.search(f"{error} {_reason(last)}")
    return Refused(
        kind=kind,
        code=str(reported.get("Code", type(error).__name__)),
        message=_reason(last) or str(reported.get("Message", " ".join(str(error).split()))),
        is_an_answer=failed or (bool(response) and kind not in _NO_ANSWER and status < _FIRST_SERVER_ERROR),
    )


def _reason(last: Mapping[str, Any]) -> str:
    """Return the reason in the last response to a waiter: the values of keys such as `StatusReason`."""
    text = json.dumps(last, default=str)
    return "; ".join(dict.fromkeys(re.findall(r'"\w*(?:StatusReason|FailureReason|StatusMessage)": "([^"]+)"', text)))


def _as_strings(shape: Any, value: Any) -> Any:
    """Return `value` with objects as JSON where `shape` of the API is a string."""
    if shape is None:
        return value
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: _as_strings(shape.members.get(key), each) for key, each in members.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [_as_strings(shape.member, each) for each in cast("list[Any]", value)]
    if shape.type_name == "map" and isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {key: _as_strings(shape.value, each) for key, each in items.items()}
    if shape.type_name == "string" and isinstance(value, Mapping):
        return json.dumps(value)
    return value
