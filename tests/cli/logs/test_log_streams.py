"""What `llm-fleet logs` is given."""

from datetime import UTC, datetime

import pytest

from llm_fleet.cli.logs.gather import Asked, Gathered, failure_code
from llm_fleet.cli.logs.log_streams import since
from llm_fleet.cli.logs.show_logs import nothing_shown
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import FleetError, Problem

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90s", "2026-11-22T11:58:30+00:00"),
        ("30m", "2026-11-22T11:30:00+00:00"),
        ("2h", "2026-11-22T10:00:00+00:00"),
        ("3d", "2026-11-19T12:00:00+00:00"),
        ("2026-11-22T03:00:00Z", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22 03:00", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22T03:00:00+02:00", "2026-11-22T01:00:00+00:00"),
    ],
)
def test_spans_and_times_are_read(text: str, meant: str) -> None:
    found = since(text, now=NOW)
    assert found is not None
    assert found.isoformat() == meant


@pytest.mark.parametrize("text", ["", "yesterday", "2 fortnights", "-2h", "999999w"])
def test_what_is_neither_is_told(text: str) -> None:
    with pytest.raises(FleetError, match="LF1120"):
        since(text, now=NOW)


@pytest.mark.parametrize("text", ["LFN39", "lfn39", "39"])
def test_a_code_may_be_written_shortly(text: str) -> None:
    assert failure_code(text) == "LFN39"


@pytest.mark.parametrize(("text", "code"), [("1", "LFN01"), ("104", "LFN104")])
def test_a_code_has_two_digits_or_more(text: str, code: str) -> None:
    assert failure_code(text) == code


def test_what_is_no_code_is_told() -> None:
    with pytest.raises(FleetError, match="LF1124"):
        failure_code("LF39")


def test_no_failure_is_told_only_where_something_is_known_of_every_node():
    failed, code = Asked(failed=True), Asked(code="LFN39")
    assert nothing_shown(Gathered(), failed, 0) == "no node's start failed"
    assert nothing_shown(Gathered(), failed, 5) == "no start is known to have failed; of 5 nodes nothing is known"
    assert nothing_shown(Gathered(), code, 0) == "no node's start ended with LFN39"
    denied = Problem(code=CommandCode.DENIED, message="m", remedy="r")
    assert "not all could be asked" in nothing_shown(Gathered(problems=[denied]), failed, 0)
    assert nothing_shown(Gathered(), Asked(), 0) == "no node has started yet"
