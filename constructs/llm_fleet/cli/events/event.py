"""Something that happened to a cluster or service, whoever tells it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from llm_fleet.catalog.nodes import remedy_for


class Level(StrEnum):
    """How bad it is."""

    INFO = "Info"
    WARN = "Warn"
    ERROR = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    time: datetime
    level: Level
    source: str
    """Who tells it: `HyperPod`, `CloudFormation`, `ECS`."""
    about: str
    """A node, a group, a resource of a stack, a task; empty for the whole."""
    what: str
    failure: str | None = None
    """The failure message, where there is one beside `what`."""
    group: str | None = None
    times: int = 1
    """How often it was told: HyperPod tells most things twice."""
    noise: bool = False
    """Whether it only says that nodes go because somebody wants fewer."""
    key: str = ""
    """What tells it from others, where the service has an id."""

    @property
    def said(self) -> str:
        """All that it says."""
        return ": ".join(dict.fromkeys(part.strip() for part in (self.what, self.failure or "") if part.strip()))

    @property
    def remedy(self) -> str | None:
        """What to do, of what went wrong."""
        return None if self.level is Level.INFO else remedy_for(self.said)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        names = ("time", "level", "source", "about", "group", "what", "failure", "times", "remedy")
        return {name: getattr(self, name) for name in names}
