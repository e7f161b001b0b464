"""A job of a fleet file: its description, with references to the rest of the fleet."""

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
    """Export of the trained model: for a service of this file, or with the location and sizes that a server needs."""

    written_as: ClassVar[Mapping[str, str]] = {"server_kind": "server"}

    to: str | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """S3 folder of the exported model, in a bucket of the cluster's `writes`; instead of `service`."""
    service: str | None = None
    """Name under `services`, whose model location, server, instance type and sizes are used. Default: none; then `to`
    is required."""


class JobConfig(TrainingRunSpec):
    """A training run of one model. Its key is its name, the name of its folder and of its Slurm jobs."""

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    export: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        JobExportConfig | None, Field(examples=["{service: chat}"])
    ] = None
    """Export of the trained model. Default: none; the model stays in the job's folder."""
    cluster: str | None = None
    """Name under `clusters`. Default: the only cluster."""
    partition: str | None = None
    """Slurm partition of the cluster, on ParallelCluster a queue. Default: the only partition."""
    config: str | None = None
    """Path of the model's `config.json`, relative to the fleet file, instead of `shape`. Default: none."""

    _numbers: TrainedShape | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def set_directory(self, directory: Path | None) -> None:
        """Set the base directory of `config`, that of the fleet file, and read the file."""
        if self.config is not None and directory is not None:
            self._numbers, problems = read_trained_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Errors in `config`."""
        return self._unread

    @property
    def known_shape(self) -> TrainedShape | None:
        """Sizes of the model: `shape`, otherwise from `config`, otherwise derived from its name."""
        return self.shape or self._numbers or known_trained_shape(self.model)

    def placed(self, partition: TrainingPartition, *, export: ServedExport | None) -> PlacedRun:
        """Return the run on `partition`, with the export `export`."""
        return self.narrowed(PlacedRun, partition=partition, export=export, shape=self.known_shape)
