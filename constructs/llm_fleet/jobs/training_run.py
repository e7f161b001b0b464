"""A training run of a program: judged as it is made, with its plan and what it keeps in memory."""

from typing import TYPE_CHECKING, Any

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.run_plan import MemoryEstimate, RunPlan, estimate, planned
from llm_fleet.rules.training.run_sources import known_trained_shape
from llm_fleet.spec.jobs import PlacedRun


class TrainingRun(PlacedRun):
    """A training run: the model, what it learns from, on what, and how it is spread over the processes there.

    What is left out is worked out from the partition. Raises `FleetError` with everything that would fail on the
    cluster: degrees that do not divide, a batch that does not, a model that does not fit the memory of its
    accelerators (an estimate), each with what to write instead.
    """

    if not TYPE_CHECKING:

        def __init__(self, **given: Any) -> None:
            """Take the shape that the model's name tells; raise `FleetError` for everything that is wrong."""
            if given.get("shape") is None and isinstance(given.get("model"), str):
                given["shape"] = known_trained_shape(given["model"])
            super().__init__(**given)
            raise_problems(check_run(self), subject=f"TrainingRun {self.name!r}")

    @property
    def plan(self) -> RunPlan:
        """The run with all its defaults."""
        found = planned(self)
        if found is None:
            raise AssertionError("a run whose instance type is unknown raises when it is made")
        return found

    @property
    def memory(self) -> MemoryEstimate | None:
        """What a process keeps in memory, as estimated; `None` where size or memory are not known."""
        return estimate(self.plan, self.shape)
