"""The project that is deployed: folder, CDK app, and the state of its local deployment."""

import os
from dataclasses import dataclass
from pathlib import Path

_STATE = ".llm-fleet"
_STATE_VARIABLE = "LLM_FLEET_LOCAL_FOLDER"


class LocalError(Exception):
    """The local deployment cannot continue."""

    def __init__(self, message: str, remedy: str) -> None:
        """Take what is wrong and the fix."""
        super().__init__(f"{message}; {remedy}")
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of a CDK app."""

    folder: Path
    has_app: bool
    """Whether the folder has a cdk.json. Otherwise the fleet file is synthesized without an app.py."""

    @classmethod
    def of(cls, start: Path) -> "Project":
        """Return the project with the nearest cdk.json, in `start` or above it; without one, `start` itself."""
        start = start.resolve()
        for folder in (start, *start.parents):
            if (folder / "cdk.json").is_file():
                return cls(folder, has_app=True)
        return cls(start, has_app=False)

    @property
    def state(self) -> Path:
        """Folder of the emulator's address, its log and the cloud assembly: `.llm-fleet`, which git ignores, in the
        project, or the value of LLM_FLEET_LOCAL_FOLDER."""
        named = os.environ.get(_STATE_VARIABLE)
        return Path(named).absolute() if named else self.folder / _STATE

    @property
    def assembly(self) -> Path:
        """The folder of the synthesized templates."""
        return self.state / "cdk.out"

    def prepare(self) -> None:
        """Create the state folder. Raises `LocalError` if it cannot be written."""
        try:
            self.state.mkdir(parents=True, exist_ok=True)
            (self.state / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise LocalError(
                f"{self.state} cannot be written: {why}", f"set {_STATE_VARIABLE} to a folder that you can write"
            ) from error
