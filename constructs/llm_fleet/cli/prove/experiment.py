"""Runs experiments: makes their calls, compares AWS's answers with the claims, and removes what the calls created."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.catalog.experiments import Call, Request
from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.prove.aws_answers import ENDS_A_RUN, Answer, send, wait_for

if TYPE_CHECKING:
    from llm_fleet.cli.prove.undo_journal import Left, UndoJournal

_UNTIL_SECONDS = 1800
_POLL_SECONDS = 5
_PLACEHOLDER = re.compile(r"<([a-z_]+)>")


class Outcome(StrEnum):
    """What an experiment says about a claim."""

    PROVEN = "proven"
    DISPROVEN = "disproven"
    NOT_TESTED = "not tested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One answer of AWS, and whether it is the one that the claim predicts."""

    answer: Answer
    value: Any = None
    """Value of the call's `answer` expression."""
    deviation: str = ""
    """How the answer differs from the expected one; empty if it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one experiment."""

    name: str
    """Id of the claim, or `stack NAME`."""
    outcome: Outcome
    reason: str = ""
    """Why the claim is disproven or not tested."""
    observations: tuple[Observation, ...] = ()
    interrupted: bool = False
    """Whether Ctrl-C has ended it."""
    ends_the_run: bool = False
    """Whether no experiment follows: the next call would fail, too, or Ctrl-C."""


class _NotTested(Exception):
    """The experiment ends without a result."""


class _Disproven(Exception):
    """AWS has not answered as the claim predicts."""


@dataclass(kw_only=True)
class Experimenter:
    """Runs experiments in one account."""

    region: str
    run: str
    """Prefix of all names."""
    values: Mapping[str, Any]
    """Values of other placeholders, by name."""
    journal: UndoJournal
    clients_in: Callable[[str], AwsClients] = field(default=lambda region: AwsClients(region=region))
    _clients: dict[str, AwsClients] = field(default_factory=dict[str, AwsClients])

    def clients(self, region: str) -> AwsClients:
        """Return the clients of a Region; empty for the fleet's."""
        wanted = region or self.region
        if wanted not in self._clients:
            self._clients[wanted] = self.clients_in(wanted)
        return self._clients[wanted]

    def prove(self, name: str, calls: Sequence[Call]) -> Verdict:
        """Make `calls` in their order, and remove what they created, whatever happens."""
        values = {**self.values, "run": self.run, "region": self.region}
        seen: list[Observation] = []
        outcome, reason, interrupted = Outcome.PROVEN, "", False
        try:
            for call in calls:
                self._make(call, values, seen)
        except _NotTested as error:
            outcome, reason = Outcome.NOT_TESTED, str(error)
        except _Disproven as error:
            outcome, reason = Outcome.DISPROVEN, str(error)
        except KeyboardInterrupt:
            outcome, reason, interrupted = Outcome.NOT_TESTED, "interrupted", True
        finally:
            self.clean()
        refused = seen[-1].answer.refused if seen else None
        without_credentials = refused is not None and not refused.is_an_answer and refused.kind in ENDS_A_RUN
        return Verdict(
            name=name,
            outcome=outcome,
            reason=reason,
            observations=tuple(seen),
            interrupted=interrupted,
            ends_the_run=interrupted or without_credentials,
        )

    def clean(self) -> tuple[Left, ...]:
        """Remove what is in the journal. Return what is left."""
        regions = {removal.region for removal in self.journal.pending}
        return self.journal.remove_all({region: self.clients(region) for region in regions})

    def _make(self, call: Call, values: dict[str, Any], seen: list[Observation]) -> None:
        if call.region and _partition_of(call.region) != self.values["partition"]:
            raise _NotTested(f"{call.call}: {call.region} is not in the partition of the fleet's Region")
        clients = self.clients(call.region)
        removal = None
        if call.undo is not None:
            wait = None if call.undo_wait is None else _filled_request(call.undo_wait, values)
            undo = _filled_request(call.undo, values)
            removal = self.journal.add(undo, clients.region, self.values["account"], wait)
        answer = _send(clients, call, values)
        if removal is not None and answer.refused is not None and answer.refused.is_an_answer:
            self.journal.reject(removal)
        value, deviation = _compared(call, answer, filled(call.equals, values))
        seen.append(Observation(answer=answer, value=value, deviation=deviation))
        _evaluate(call, answer, deviation)
        values |= {name: _search(path, answer.response) for name, path in call.keep.items()}
        if call.wait is not None and answer.refused is None:
            waiting = filled(call.wait.arguments, values)
            waited = wait_for(clients, call.wait.call, waiting)
            deviation = (
                "" if waited.refused is None else f"{call.wait.call} failed: {_failure(clients, waited, waiting)}"
            )
            seen.append(Observation(answer=waited, deviation=deviation))
            _evaluate(call, waited, deviation)


def _failure(clients: AwsClients, waited: Answer, arguments: Mapping[str, Any]) -> str:
    """Return why a waiter failed. The reasons of a change set are in its events.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeEvents.html (2026-11)
    """
    if waited.call != "cloudformation:change_set_create_complete":
        return str(waited.refused)
    events = send(clients, "cloudformation:DescribeEvents", arguments).response.get("OperationEvents", [])
    reasons = [one.get("ValidationStatusReason") or one.get("ResourceStatusReason") for one in events]
    return "; ".join(dict.fromkeys([str(waited.refused), *(reason for reason in reasons if reason)]))


@cache
def _partition_of(region: str) -> str:
    from botocore.session import Session

    return Session().get_partition_for_region(region)


def _send(clients: AwsClients, call: Call, values: Mapping[str, Any]) -> Answer:
    """Make the call, again and again where it has `until`. Raises `_NotTested` if that does not become true."""
    end = time.monotonic() + _UNTIL_SECONDS
    while True:
        answer = send(clients, call.call, filled(call.arguments, values))
        if not call.until or answer.refused is not None or _search(call.until, answer.response):
            return answer
        if time.monotonic() > end:
            raise _NotTested(f"{call.call}: {call.until} did not become true in {_UNTIL_SECONDS // 60} minutes")
        time.sleep(_POLL_SECONDS)


def _filled_request(request: Request, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"call": request.call, "arguments": filled(request.arguments, values)}


def _evaluate(call: Call, answer: Answer, deviation: str) -> None:
    """Raise `_NotTested` or `_Disproven` unless the answer is the expected one."""
    if not deviation:
        return
    if call.setup or (answer.refused is not None and not answer.refused.is_an_answer):
        raise _NotTested(f"{answer.call}: {deviation}")
    raise _Disproven(f"{answer.call}: {deviation}")


def _compared(call: Call, answer: Answer, expected: Any) -> tuple[Any, str]:
    """Return the value of the call's expression, and how the answer differs from the expected one."""
    if call.error is not None:
        if answer.refused is None:
            return None, f"AWS accepted the call; expected the error {call.error.pattern}"
        if call.error.fullmatch(answer.refused.code) is None:
            return None, f"{answer.refused}; expected the error {call.error.pattern}"
        if call.message is not None and call.message.search(answer.refused.message) is None:
            return None, f"{answer.refused}; expected a message with {call.message.pattern}"
        return None, ""
    if answer.refused is not None:
        return None, str(answer.refused)
    if not call.answer:
        return None, ""
    value = _search(call.answer, answer.response)
    if expected is None:
        return value, "" if value else f"{call.answer} is empty"
    return value, "" if value == expected else f"{call.answer} is {value!r}; expected {expected!r}"


def _search(path: str, response: Mapping[str, Any]) -> Any:
    import jmespath

    return jmespath.search(path, response)


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Return `value` with its placeholders replaced. Raises `KeyError` for one that no earlier call kept."""
    if isinstance(value, str):
        whole = _PLACEHOLDER.fullmatch(value)
        return values[whole[1]] if whole else _PLACEHOLDER.sub(lambda found: str(values[found[1]]), value)
    if isinstance(value, Mapping):
        return {key: filled(each, values) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(each, values) for each in cast("list[Any]", value)]
    return value
