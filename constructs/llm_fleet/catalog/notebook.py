"""Notebook instances of SageMaker, and Studio: instance types, platforms, limits and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from llm_fleet.catalog.data_file import KEY, Limit, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """One platform, that is an operating system with a JupyterLab."""

    name: Annotated[str, KEY]
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


notebook_facts = reader(NotebookFacts, "sagemaker_notebooks")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioFacts:
    """Limits and choices."""

    default_instance: str
    default_idle_minutes: int
    default_volume_gib: int
    default_maximum_volume_gib: int
    idle_minutes: Limit
    volume_gib: Limit
    """EBS volume of a space."""
    uid: Limit
    gid: Limit
    domain_name: Limit
    user_name: Limit
    """Of a user profile."""
    script_name: Limit
    script_characters: Limit
    """Of a lifecycle configuration's content, which is Base64."""
    lustre_directory: Limit
    repository_url: Limit
    repositories: int
    addresses_per_user: int
    """That AWS recommends to have, at the most."""
    addresses_of_home: int
    """Of a mount target of EFS, one in each subnet."""
    example_uid: int
    log_group: str
    """Where applications and lifecycle scripts of all domains write, in streams that begin with a domain's id."""
    retired_families: Mapping[str, str]
    """Families that new users do not get any more, and a type in their place."""
    unknown_to_cloudformation: tuple[str, ...]
    """Families that the API has and CloudFormation's schema does not."""
    families: Mapping[str, tuple[str, ...]]
    """The sizes of each family, in the order of the API's list."""

    @property
    def instances(self) -> tuple[str, ...]:
        """Types by their `ml.` names."""
        return tuple(f"ml.{family}.{size}" for family, sizes in self.families.items() for size in sizes)


studio_facts = reader(StudioFacts, "studio")
