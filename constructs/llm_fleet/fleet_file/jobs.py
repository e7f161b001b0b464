"""A job of a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, PrivateAttr

from llm_fleet.named_files.named_file import read_trained_shape
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run import known_trained_shape
from llm_fleet.spec.jobs import PlacedRun, ServedExport, TrainingPartition, TrainingRunSpec
from llm_fleet.spec.model_shape import TrainedShape


class JobExportConfig(ServedExport):
    """The trained model as a service reads it: either a service of this file, or all that one needs to know."""

    written_as: ClassVar[Mapping[str, str]] = {"server_kind": "server"}

    to: str | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """Where in S3 a server reads it, in a bucket of the cluster's `writes`; in place of `service`."""
    service: str | None = None
    """A name under `services`: its model, server, instance and sizes. Default: none; then `to` says where."""


class JobConfig(TrainingRunSpec):
    """A training run: one model, trained once. Its key is its name, that of its folder and of its jobs in Slurm."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    export: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        JobExportConfig | None, Field(examples=["{service: chat}"])
    ] = None
    """What becomes of the trained model. Default: nothing; it lies in the job's folder."""
    cluster: str | None = None
    """A name under `clusters`. Default: the only one."""
    partition: str | None = None
    """A Slurm partition of the cluster, on ParallelCluster a queue. Default: the only one."""
    config: str | None = None
    """Its `config.json` on this machine, from where this file lies, in place of `shape`. Default: none."""

    _numbers: TrainedShape | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def stand_in(self, directory: Path | None) -> None:
        """Take `directory`, that of the fleet file, for the one that `config` begins at, and read it."""
        if self.config is not None and directory is not None:
            self._numbers, problems = read_trained_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Why `config` tells nothing."""
        return self._unread

    @property
    def known_shape(self) -> TrainedShape | None:
        """As written, else what `config` tells, else what is known by its name."""
        return self.shape or self._numbers or known_trained_shape(self.model)

    def placed(self, partition: TrainingPartition, *, export: ServedExport | None) -> PlacedRun:
        """Return the run on `partition`, which exports `export`."""
        return self.narrowed(PlacedRun, partition=partition, export=export, shape=self.known_shape)
