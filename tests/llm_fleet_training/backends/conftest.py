"""Runs with stand-ins of vendors' libraries on the import path of the program's processes."""

from pathlib import Path

import pytest

from tests.llm_fleet_training.runs import ROOT, Run, Starter, write_model, write_tokens

STAND_INS = Path(__file__).parents[1] / "stand_ins"


@pytest.fixture
def vendors_run(tmp_path: Path, starter: Starter) -> Run:
    """A run that was never started, whose starts import the stand-ins."""
    write_model(tmp_path / "run/model")
    write_tokens(tmp_path / "run/tokens")
    return Run(tmp_path / "run", starter.seeing(str(STAND_INS / "neuron"), str(ROOT)))
