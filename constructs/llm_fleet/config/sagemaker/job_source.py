"""The training script and its folder."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field, PrivateAttr

from llm_fleet.named_files.source_folder import read_source
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel


class JobSourceConfig(FleetModel):
    """A folder that goes to the job as it is, and the script in it (`SourceLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "source_dir": "write `folder`",
        "dir": "write `folder`",
        "path": "write `folder`",
        "script": "write `entry_point`",
        "main": "write `entry_point`",
    }

    folder: str = Field(examples=["train"])
    """The folder on this machine, from where this file lies."""
    entry_point: str = Field(examples=["train.py"])
    """The script, from the folder."""

    _directory: Path = PrivateAttr(default=Path())
    _files: frozenset[str] | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that `folder` begins at, and look into it."""
        self._directory = directory
        self._files, problems = read_source(directory / self.folder)
        self._unread = tuple(problems)

    @property
    def path(self) -> Path:
        """The folder, from the directory of the fleet file."""
        return self._directory / self.folder

    @property
    def files(self) -> Collection[str] | None:
        """What lies in the folder; `None` where nobody has looked."""
        return self._files

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Why there is nothing in it."""
        return self._unread
