"""Each run has its own folder, even if several begin at the same time."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llm_fleet_local.drill import session


def test_each_of_several_runs_in_one_second_has_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "strftime", _moment)
    with ThreadPoolExecutor(8) as runs:
        made = [run.result() for run in [runs.submit(session.run_folder, tmp_path) for _ in range(40)]]
    assert len(set(made)) == 40
    assert {one.name for one in made} == {"20261122-164348", *(f"20261122-164348.{n}" for n in range(1, 40))}


def _moment(_format: str) -> str:
    return "20261122-164348"
