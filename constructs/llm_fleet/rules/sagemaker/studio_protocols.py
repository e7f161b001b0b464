"""What the rules of Studio see, of a fleet file and of a construct alike."""

from collections.abc import Sequence
from typing import Protocol

from llm_fleet.rules.sagemaker.studio_terms import StudioInternet, StudioSignIn


class StudioUserLike(Protocol):
    """Somebody who works in Studio."""

    @property
    def name(self) -> str:
        """Of the user profile."""
        ...

    @property
    def uid(self) -> int | None:
        """User id in file systems."""
        ...

    @property
    def gid(self) -> int | None:
        """Group id in file systems."""
        ...

    @property
    def identity(self) -> str | None:
        """User name in IAM Identity Center."""
        ...


class StudioLike(Protocol):
    """A domain."""

    @property
    def domain_name(self) -> str | None:
        """Its name; `None` is one that cannot be wrong."""
        ...

    @property
    def sign_in(self) -> StudioSignIn:
        """Who tells who somebody is."""
        ...

    @property
    def internet(self) -> StudioInternet:
        """Which way to the internet."""
        ...

    @property
    def users(self) -> Sequence[StudioUserLike]:
        """Who works in it."""
        ...

    @property
    def instance_type(self) -> str:
        """What an application runs on unless somebody chooses."""
        ...

    @property
    def allowed_instance_types(self) -> Sequence[str]:
        """What may be chosen; empty: all."""
        ...

    @property
    def idle_minutes(self) -> int | None:
        """After how long an idle application is shut down; `None`: never."""
        ...

    @property
    def volume_gib(self) -> int:
        """Volume of a new space."""
        ...

    @property
    def maximum_volume_gib(self) -> int:
        """The largest that somebody may choose."""
        ...

    @property
    def lustre_directory(self) -> str:
        """What of the file system is seen."""
        ...

    @property
    def code_repositories(self) -> Sequence[str]:
        """Git repositories that are offered to be cloned."""
        ...

    @property
    def pins(self) -> Sequence[str]:
        """What pip is held to."""
        ...

    @property
    def name_prefixes(self) -> Sequence[str]:
        """How names of jobs, models and endpoints begin that people may make."""
        ...
