"""A few hundred random fleet files in each run of the tests, and the tool's report of a bug."""

from typing import Any

import pytest

from tools import fuzz_fleet_files

SEED = 15


def test_random_fleet_files_are_read_or_refused() -> None:
    found = fuzz_fleet_files.try_files((SEED, range(400)))
    assert found.failures == [], "python -m tools.fuzz_fleet_files --seed 15 --show N prints the file"
    assert found.good > 20, "some of the changes do no harm"
    assert len(found.codes) > 60, "the others reach many rules"


def test_seed_and_number_determine_a_file() -> None:
    assert fuzz_fleet_files.fleet_file(SEED, 3) == fuzz_fleet_files.fleet_file(SEED, 3)
    assert len({fuzz_fleet_files.fleet_file(seed, number) for seed in (1, 2) for number in range(3)}) == 6


def test_tracebacks_and_long_waits_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any, **__: Any) -> None:
        raise ValueError("no such octet")

    monkeypatch.setattr(fuzz_fleet_files, "SECONDS", 0.0)
    slow = fuzz_fleet_files.try_files((SEED, range(1)))
    assert [number for number, text in slow.failures if "0 s is the limit" in text] == [0]
    monkeypatch.setattr(fuzz_fleet_files, "parse_fleet", wrong)
    ((number, text),) = fuzz_fleet_files.try_files((SEED, range(7, 8))).failures
    assert number == 7
    assert "ValueError: no such octet" in text
