"""What an update would do, as data."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpgrade:
    """One group of nodes."""

    name: str
    role: str | None
    instance_type: str
    nodes: int
    current: str
    """Release or id of the image that it runs; `unknown` where HyperPod does not tell."""
    wanted: str
    """What it would run."""
    status: str | None
    """`UpToDate`, `UpdateAvailable`, `SecurityUpdateRequired`, `EndOfLife`."""
    hook: str | None
    """When its nodes run scripts; `None` for never."""
    script: str | None
    """The script that runs."""
    steps: tuple[str, ...] = ()
    """What of our steps would run again, at most: a node leaves out what it does not need."""
    rolling: dict[str, Any] | None = None
    """How the update rolls over it, as the API has it; `None`: all at once."""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True, kw_only=True)
class UpgradePlan:
    """All of it."""

    about: str
    groups: list[GroupUpgrade] = field(default_factory=list[GroupUpgrade])
    lost: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    """Commands to run before."""
    commands: list[str] = field(default_factory=list[str])
    """The update, in the order in which to run it; nobody ran them."""
    after: list[str] = field(default_factory=list[str])
    not_asked: str | None = None
    """Why Slurm was not asked, though it should have been."""
    jobs: list[str] | None = None
    """What runs now, as Slurm tells it; `None` where nobody asked."""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"groups": [group.as_json() for group in self.groups]}
