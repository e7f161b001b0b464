"""Picks a run out of those of a fleet file."""

from collections.abc import Mapping

from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import FleetError, Problem


def run_of(runs: Mapping[str, TrainingRun], name: str | None) -> TrainingRun:
    """Return the run `name`, or the only one there is. Raises `FleetError` (LF884)."""
    if name is None and len(runs) == 1:
        return next(iter(runs.values()))
    if name is not None and name in runs:
        return runs[name]
    names = ", ".join(runs)
    problem = Problem(
        code=Code.BATCH_STAGE,
        message="the fleet file has no run of this name" if name else "nobody told which run",
        value=name,
        allowed=names,
        remedy=did_you_mean(name or "", runs, otherwise="name one of these" if runs else "write it under `jobs:`"),
        path=("jobs",),
    )
    raise FleetError([problem])
