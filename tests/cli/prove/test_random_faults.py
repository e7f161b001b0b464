"""Ten thousand runs in an account in memory whose calls fail at random, or that are killed: nothing is ever left."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.experiments import Call, Request
from llm_fleet.cli.prove import experiment, undo_journal
from llm_fleet.cli.prove.aws_answers import Answer, Refused
from llm_fleet.cli.prove.experiment import Experimenter, Outcome
from llm_fleet.cli.prove.undo_journal import UndoJournal, interrupted_runs
from llm_fleet.rules.feature_codes import CommandCode

RUNS = 10_000
SEED = 20261128


class KilledError(BaseException):
    """The process has ended."""


class Account:
    """Things by name, and the faults of calls. A folder cannot be deleted while it has files, as a bucket."""

    def __init__(self, chance: random.Random) -> None:
        self.things: set[str] = set()
        self.chance = chance
        self.faults = True
        self.dead = False

    def send(self, clients: object, call: str, arguments: Mapping[str, Any]) -> Answer:
        fault = self.chance.random() if self.faults else 1.0
        self._perhaps_dies(fault < 0.03)
        if fault < 0.06:
            raise KeyboardInterrupt
        if fault < 0.12:
            return _refused(call, CommandCode.THROTTLED, is_an_answer=False)
        if fault < 0.15:
            return _refused(call, CommandCode.EXPIRED, is_an_answer=False)
        answer = self._done(call, arguments["Name"])
        if call.endswith(":Create") and 0.21 <= fault < 0.24:
            # The response is lost, and boto3 makes the call again.
            return _refused(call, CommandCode.REFUSED, is_an_answer=True)
        if 0.15 <= fault < 0.18:
            # AWS has done it, and the response is lost.
            return _refused(call, CommandCode.UNREACHABLE, is_an_answer=False)
        self._perhaps_dies(0.18 <= fault < 0.21)
        return answer

    def _perhaps_dies(self, now: bool) -> None:
        self.dead = self.dead or now
        if self.dead:
            raise KilledError

    def _done(self, call: str, name: str) -> Answer:
        if call.endswith(":Create"):
            self.things.add(name)
            return _accepted(call, {"Id": name})
        if name not in self.things:
            return _refused(call, CommandCode.GONE, is_an_answer=True)
        if call.endswith(":Delete") and any(one.startswith(f"{name}/") for one in self.things):
            return _refused(call, CommandCode.REFUSED, is_an_answer=True)
        if call.endswith(":Delete"):
            self.things.remove(name)
        return _accepted(call, {"Id": name})


def _accepted(call: str, response: Mapping[str, Any]) -> Answer:
    return Answer(call=call, region="r", response=response, refused=None, request_id="1", time="", seconds=0.0)


def _refused(call: str, kind: CommandCode, *, is_an_answer: bool) -> Answer:
    refused = Refused(kind=kind, code=kind.name, message="", is_an_answer=is_an_answer)
    return Answer(call=call, region="r", response={}, refused=refused, request_id="", time="", seconds=0.0)


def _calls(chance: random.Random) -> tuple[Call, ...]:
    """A folder, perhaps files in it, and perhaps a call that should be rejected and is accepted."""
    files = [f"<run>-folder/{number}" for number in range(chance.randrange(3))]
    created = [
        Call(call="x:Create", arguments={"Name": name}, undo=Request(call="x:Delete", arguments={"Name": name}))
        for name in ("<run>-folder", *files)
    ]
    wrong = Call(
        call="x:Create",
        arguments={"Name": "<run>-wrong"},
        error=re.compile("REFUSED"),
        undo=Request(call="x:Delete", arguments={"Name": "<run>-wrong"}),
    )
    return (*created, wrong) if chance.random() < 0.3 else tuple(created)


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(SEED)
    account = Account(chance)
    monkeypatch.setattr(experiment, "send", account.send)
    monkeypatch.setattr(undo_journal, "send", account.send)
    monkeypatch.setattr("os.fsync", _no_sync)
    outcomes: dict[object, int] = {}
    for number in range(RUNS):
        outcome = _run(account, tmp_path / "run", _calls(chance))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        account.faults, account.dead = False, False
        for journal in interrupted_runs(tmp_path):
            assert _experimenter(journal).clean() == ()
        assert account.things == set(), f"run {number}, {outcome}"
        account.faults = True
        (tmp_path / "run" / undo_journal.FILE).unlink()
    assert set(outcomes) == {*Outcome, KilledError, KeyboardInterrupt}, outcomes
    assert min(outcomes.values()) > RUNS / 100, outcomes


def _no_sync(_: int) -> None:
    """Ten thousand runs must not wait for the disk."""


def _run(account: Account, folder: Path, calls: tuple[Call, ...]) -> object:
    """Return the outcome, or how the run ended without one."""
    journal = UndoJournal(folder)
    try:
        return _experimenter(journal).prove("claim", calls).outcome
    except (KilledError, KeyboardInterrupt) as end:
        return type(end)
    finally:
        journal.close()


def _experimenter(journal: UndoJournal) -> Experimenter:
    clients: Any = type("Clients", (), {"region": "r"})()
    return Experimenter(region="r", run="run", values={"account": "1"}, journal=journal, clients_in=lambda _: clients)
