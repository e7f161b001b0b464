"""Which steps nodes take when they start."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, PrivateAttr

from llm_fleet.fleet_file.own_step import OwnStepConfig
from llm_fleet.fleet_file.own_steps import OwnStepsConfig
from llm_fleet.spec.model import FleetModel


class StepsModel(FleetModel):
    """The steps that nodes take, as far as a user may choose them."""

    skip_steps: tuple[str, ...] = Field(default=(), alias="skip")
    """Shipped steps that no node takes, by name. Default: none are skipped."""
    own: OwnStepsConfig | None = None
    """Steps of your own among the shipped ones. Default: none."""

    _directory: Path = PrivateAttr(default=Path())

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that folders begin at; for the loader."""
        self._directory = directory
        if self.own is not None:
            self.own.stand_in(directory)

    @property
    def own_steps(self) -> Sequence[OwnStepConfig]:
        """The steps of the user's own, in the order of the file."""
        return tuple(self.own.steps.values()) if self.own is not None else ()
