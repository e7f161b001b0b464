"""What a package manager does for us."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from llm_fleet_node.host import Host

LOCK_SECONDS = 300
"""How long we wait for another program that installs packages, e.g. unattended-upgrades at the first start."""
INSTALL_SECONDS = 900
"""How long the package manager may take; a kernel module that is built here takes minutes."""


class PackageManager(ABC):
    """The package manager of one host."""

    def __init__(self, host: Host) -> None:
        """Take the host."""
        self.host = host

    @abstractmethod
    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """Return the versions of those of the packages `names` that are installed, whole and configured."""

    @abstractmethod
    def is_older(self, version: str, other: str) -> bool:
        """Return whether `version` is older than `other`, by the package manager's own order."""

    @abstractmethod
    def repair(self) -> None:
        """End what an installation that was killed has left half done. Raises `Failure`."""

    @abstractmethod
    def install(self, files: Sequence[Path], *, changes: str) -> None:
        """Install the packages in `files`, and nothing from elsewhere; `changes` says what that is, in words.

        Raises `Failure` when another program does not let go of the packages, `CommandFailed` for everything else.
        """

    @abstractmethod
    def held(self) -> set[str]:
        """Return the packages that an upgrade of the system leaves as they are."""

    @abstractmethod
    def hold(self, names: Iterable[str]) -> None:
        """Make sure that an upgrade of the system leaves the packages `names` as they are."""
