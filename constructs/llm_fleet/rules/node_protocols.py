"""What the rules ask of the settings that nodes are told: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
"""

from collections.abc import Sequence
from typing import Protocol

from llm_fleet.rules.terms import NodeType


class UserLike(Protocol):
    """A user with the same ids on every node."""

    @property
    def name(self) -> str:
        """Login name."""
        ...

    @property
    def uid(self) -> int:
        """User id."""
        ...

    @property
    def gid(self) -> int | None:
        """Id of the user's own group; `None` for the user id."""
        ...

    @property
    def ssh_public_keys(self) -> Sequence[str]:
        """Lines of `authorized_keys`."""
        ...

    @property
    def slurm_account(self) -> str | None:
        """Slurm account; `None` for none."""
        ...

    @property
    def home(self) -> str | None:
        """Absolute path of the home; `None` for wherever the cluster's homes are."""
        ...


class S3MountLike(Protocol):
    """A bucket that nodes see as a folder."""

    @property
    def prefix(self) -> str | None:
        """Only keys below it; `None` for the whole bucket."""
        ...

    @property
    def mount_path(self) -> str:
        """Absolute path on the node."""
        ...

    @property
    def groups(self) -> Sequence[str] | None:
        """Names of the instance groups that mount it; `None` for all."""
        ...


class OwnStepLike(Protocol):
    """A step of the user's own."""

    @property
    def name(self) -> str:
        """Name of the step."""
        ...

    @property
    def script(self) -> str:
        """Path of its script below the folder of own scripts."""
        ...

    @property
    def roles(self) -> Sequence[NodeType]:
        """Roles of the nodes that take it."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """Names of the steps that come before it."""
        ...

    @property
    def timeout_seconds(self) -> int:
        """Seconds that an attempt may take."""
        ...

    @property
    def retries(self) -> int:
        """How often it is attempted anew."""
        ...
