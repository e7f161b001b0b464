"""Interface of package managers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from llm_fleet_node.host import Host

LOCK_SECONDS = 300
"""Timeout for another program that installs packages, e.g. unattended-upgrades at the first boot."""
INSTALL_SECONDS = 900
"""Timeout of the package manager; building a kernel module takes minutes."""


class PackageManager(ABC):
    """The package manager of one host."""

    def __init__(self, host: Host) -> None:
        """`host`: the machine."""
        self.host = host

    @abstractmethod
    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """Return the versions of the completely installed packages among `names`."""

    @abstractmethod
    def is_older(self, version: str, other: str) -> bool:
        """Return whether `version` is older than `other`, in the package manager's order."""

    @abstractmethod
    def repair(self) -> None:
        """Complete an interrupted installation. Raises `Failure`."""

    @abstractmethod
    def install(self, files: Sequence[Path], *, changes: str) -> None:
        """Install only the packages in `files`; `changes` describes them.

        Raises `Failure` if another program holds the lock, and `CommandFailed` for other errors.
        """

    @abstractmethod
    def held(self) -> set[str]:
        """Return the packages that a system upgrade does not change."""

    @abstractmethod
    def hold(self, names: Iterable[str]) -> None:
        """Exclude the packages `names` from system upgrades."""
