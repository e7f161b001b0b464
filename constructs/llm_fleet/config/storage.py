"""The storage of a fleet."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from llm_fleet.config.bucket import BucketConfig
from llm_fleet.config.fsx import FsxConfig
from llm_fleet.config.home import HomeConfig
from llm_fleet.config.slurm_database import SlurmDatabaseConfig
from llm_fleet.spec.model import FleetModel, name_entries


class StorageConfig(FleetModel):
    """What outlives the clusters."""

    fsx: FsxConfig | None = None
    """An FSx for Lustre file system for data and checkpoints. Default: none."""
    home: HomeConfig | None = None
    """An FSx for OpenZFS file system for home directories. Default: none; homes are then on the controller."""
    slurm_database: SlurmDatabaseConfig | None = Field(default=None, examples=["{}"])
    """A database for Slurm's accounting, for clusters with `accounting: slurm_database`. Default: none."""
    buckets: Mapping[str, BucketConfig] = {}
    """Buckets for data and models, by name. Default: none."""

    @model_validator(mode="after")
    def _tell_buckets(self) -> Self:
        name_entries(self.buckets)
        return self
