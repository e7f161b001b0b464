"""Notebook instances of SageMaker: instance types, platforms, limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """One platform, that is an operating system with a JupyterLab."""

    name: str
    """As the service knows it, e.g. `notebook-al2023-v1`."""
    jupyterlab: int
    """Its major version."""
    ended: str | None
    """Since when no instance can be made or started on it, as ISO date; `None` of a living one."""
    successor: str | None
    """What to take instead; `None` of a living one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A number's limits, and its default."""

    min: int
    max: int
    default: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookFacts:
    """What notebook instances may be."""

    platforms: Mapping[str, PlatformFacts]
    default_platform: str
    undocumented_platforms: tuple[str, ...]
    """Of which nothing but the name is known."""
    instance_types: Mapping[str, tuple[str, ...]]
    """The sizes of each family, smallest first."""
    retired_families: Mapping[str, str]
    """Families that living platforms do not run, and an instance type to take instead."""
    default_instance_type: str
    name_max: int
    volume_gib: Bounds
    additional_repositories_max: int
    """Beside the default one."""
    repository_url_max: int
    script_characters_max: int
    """Of a lifecycle script, once it is base64."""
    idle_minutes: Bounds
    default_pins: tuple[str, ...]
    """What pip on an instance is held to."""
    sdk_name_prefixes: tuple[str, ...]
    """How the names begin that the SageMaker SDK gives to what it makes."""
    log_group: str
    """Where the service writes the logs of all instances."""

    @property
    def instance_type_names(self) -> tuple[str, ...]:
        """All instance types by their `ml.` names."""
        return tuple(f"ml.{family}.{size}" for family, sizes in self.instance_types.items() for size in sizes)

    @property
    def living_platforms(self) -> tuple[str, ...]:
        """The platforms on which an instance can be made."""
        return tuple(name for name, platform in self.platforms.items() if platform.ended is None)


@cache
def notebook_facts() -> NotebookFacts:
    """Return the facts, read once a process."""
    facts = dict(load("sagemaker_notebooks"))
    platforms = {name: PlatformFacts(name=name, **told) for name, told in facts.pop("platforms").items()}
    types = {family: tuple(sizes) for family, sizes in facts.pop("instance_types").items()}
    bounds = {name: Bounds(**facts.pop(name)) for name in ("volume_gib", "idle_minutes")}
    lists = {name: tuple(facts.pop(name)) for name in ("default_pins", "sdk_name_prefixes", "undocumented_platforms")}
    return NotebookFacts(platforms=platforms, instance_types=types, **bounds, **lists, **facts)


class NotebookPlatform(str):
    """A platform of notebook instances: a plain string, that `NotebookPlatform.of` vouches for."""

    __slots__ = ()

    @classmethod
    def al2023(cls) -> Self:
        """Return Amazon Linux 2023 with JupyterLab 4, the default."""
        return cls(notebook_facts().default_platform)

    @classmethod
    def of(cls, name: str) -> Self:
        """Return a platform that is newer than this release of llm-fleet, e.g. `notebook-al2028-v1`.

        One that has ended is refused by whatever takes it (LF910).
        """
        return cls(name)
