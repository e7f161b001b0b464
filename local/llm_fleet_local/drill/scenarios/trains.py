"""The fleet's run, trained on the cluster that scenarios share: the reference for all other runs."""

from __future__ import annotations

from dataclasses import dataclass

from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.spec.jobs import Checkpoint
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.training.outcome import Training
from llm_fleet_local.drill.training.run_on_cluster import Ground, RunOnCluster


@dataclass(frozen=True)
class Trains:
    """The run of the fleet, trained twice on the shared cluster, the second time with the loss of a node."""

    cluster: DrillCluster
    run: TrainingRun
    training: Training

    @property
    def undisturbed(self) -> RunOnCluster:
        """The undisturbed run."""
        return RunOnCluster(self.cluster, self.run)

    def again(self, name: str, *, every: int, ground: Ground | None = None) -> RunOnCluster:
        """Return the same run in a folder of its own, with checkpoints after `every` steps; nothing is submitted.

        `ground`: another cluster than the shared one.
        """
        on = ground or self.cluster
        made = RunOnCluster(on, self.run.model_copy(update={"checkpoint": Checkpoint(every=every, keep=3)}), name=name)
        made.take_data_of(self.undisturbed)
        return made

    def assert_same(self, run: RunOnCluster) -> None:
        """Compare how `run` has ended with the undisturbed one."""
        assert run.result["parameters_sha256"] == self.training.undisturbed.parameters_sha256, run.log("train")
