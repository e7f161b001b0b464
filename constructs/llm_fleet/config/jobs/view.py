"""A job of the fleet file as the rules of training runs see it."""

from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.config.jobs.job import JobConfig
from llm_fleet.config.jobs.served import Served
from llm_fleet.rules.training.run import RunLike, TrainingPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job with what the rest of the fleet file says of it: all else is as written."""

    config: JobConfig
    partition: TrainingPartition
    export: Served | None

    def __getattr__(self, name: str) -> Any:
        """Return what the job says itself."""
        return getattr(self.config, name)


def view_of(job: JobConfig, partition: TrainingPartition, export: Served | None) -> RunLike:
    """Return `job` as the rules of runs ask of it."""
    return cast(RunLike, JobView(config=job, partition=partition, export=export))
