"""Experiments of the register of assumptions that are calls to AWS APIs: `llm-fleet prove` makes them.

An experiment is a list of calls for one assumption, in `data/experiments/<topic>.json`, by the assumption's id. The
assumption is proven if AWS answers each call as its `error`, `message` and `answer` say, and disproven if AWS answers
one of them otherwise. An error that says nothing about the claim (missing permissions, throttling, expired credentials,
no connection) decides nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import data_files, load, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call to an API, without an expected answer.

    Strings in `arguments` may have placeholders: `<run>` is the prefix of all names of a run, unique and at most 24
    characters of a-z, 0-9 and hyphens; `<account>`, `<region>`, `<partition>` and `<dns_suffix>` are those of the
    caller; other names are those of values that earlier calls kept. A string that is only a placeholder becomes the
    value with its type. An object where the API has a string, e.g. a template or a policy, is sent as JSON.
    """

    call: str
    """boto3's name of the service and the API's name of the operation: `ecs:CreateCapacityProvider`."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the operation. Each operation with a paginator of boto3 is read to the last page."""
    region: str = ""
    """Region of the call (default: that of the fleet)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Request):
    """One call of an experiment, and the answer that proves the claim."""

    setup: bool = False
    """Whether the call only prepares others. If AWS rejects it, or `answer` is not as expected, the claim is not
    tested."""
    error: re.Pattern[str] | None = None
    """The whole code of the error with which AWS rejects the call if the claim is true. `None`: AWS accepts the
    call."""
    message: re.Pattern[str] | None = None
    """Pattern that occurs in the message of the error."""
    answer: str = ""
    """JMESPath whose value in the response proves the claim: `equals`, or by default any value that is not empty."""
    equals: Any = None
    """The expected value of `answer`."""
    until: str = ""
    """JMESPath: the call is repeated until its value in the response is true. If it is still not true after half an
    hour, the claim is not tested."""
    keep: Mapping[str, str] = field(default_factory=dict[str, str])
    """JMESPath of values of the response that later calls use, by the names of their placeholders."""
    wait: Request | None = None
    """A waiter of boto3, as `cloudformation:stack_create_complete`, which must succeed before the next call."""
    undo: Request | None = None
    """The call that removes what this one creates, made at the end in reverse order, also if AWS should have rejected
    this one. Its placeholders are known before this call, so that a run that was killed can be cleaned up."""
    undo_wait: Request | None = None
    """A waiter that must succeed after `undo`."""


@cache
def experiments() -> Mapping[str, tuple[Call, ...]]:
    """Return the calls of each experiment by the assumption's id, by topic. Read once in each process."""
    return {
        name: tuple(typed(Call, row, f"{file}.json[{name}][{at}]") for at, row in enumerate(calls))
        for file in data_files("experiments")
        for name, calls in load(file).items()
    }
