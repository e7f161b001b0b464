"""What `llm-fleet logs` is given."""

from datetime import UTC, datetime

import pytest

from llm_fleet.cli.logs.asked import failure_code
from llm_fleet.cli.logs.since import since
from llm_fleet.rules.problem import FleetError

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
