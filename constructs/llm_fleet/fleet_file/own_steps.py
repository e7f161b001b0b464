"""The steps of the user's own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, PrivateAttr, model_validator

from llm_fleet.fleet_file.own_step import OwnStepConfig
from llm_fleet.spec.model import FleetModel, name_entries


class OwnStepsConfig(FleetModel):
    """Steps of your own, among those that llm-fleet ships."""

    folder: str = Field(examples=["node-steps"])
    """The folder with their scripts, from where this file lies; it is uploaded beside the shipped ones."""
    steps: Mapping[str, OwnStepConfig] = Field(examples=[{}, "{tools: {script: tools.sh}}"])
    """The steps, by name."""

    _directory: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _tell_steps(self) -> Self:
        name_entries(self.steps)
        return self

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that `folder` begins at; for the loader."""
        self._directory = directory

    @property
    def folder_path(self) -> Path:
        """Where `folder` is, as seen from the process."""
        return self._directory / self.folder
