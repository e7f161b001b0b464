"""SageMaker notebook instances and Studio: instance types, platforms, limits and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from llm_fleet.catalog.data_file import KEY, Limit, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """One platform: an operating system with a JupyterLab version."""

    name: Annotated[str, KEY]
    """Its platform identifier in SageMaker, e.g. `notebook-al2023-v1`."""
    jupyterlab: int
    """Major version of JupyterLab."""
    ended: str | None
    """ISO date since which instances cannot be created or started on it; `None` for a supported platform."""
    successor: str | None
    """The platform to use instead; `None` for a supported one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits and default of a number."""

    min: int
    max: int
    default: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookFacts:
    """Limits and defaults of notebook instances."""

    platforms: Mapping[str, PlatformFacts]
    default_platform: str
    undocumented_platforms: tuple[str, ...]
    """Platforms of which only the name is documented."""
    instance_types: Mapping[str, tuple[str, ...]]
    """The sizes of each family, smallest first."""
    retired_families: Mapping[str, str]
    """Families that supported platforms do not offer, with an instance type to use instead."""
    default_instance_type: str
    name_max: int
    volume_gib: Bounds
    additional_repositories_max: int
    """In addition to the default repository."""
    repository_url_max: int
    script_characters_max: int
    """Limit of a lifecycle script in base64."""
    idle_minutes: Bounds
    default_pins: tuple[str, ...]
    """Default pip constraints on an instance."""
    sdk_name_prefixes: tuple[str, ...]
    """Prefixes of names that the SageMaker SDK generates."""
    log_group: str
    """The log group of all notebook instances."""

    @property
    def instance_type_names(self) -> tuple[str, ...]:
        """All instance types by their `ml.` names."""
        return tuple(f"ml.{family}.{size}" for family, sizes in self.instance_types.items() for size in sizes)

    @property
    def living_platforms(self) -> tuple[str, ...]:
        """The platforms on which instances can be created."""
        return tuple(name for name, platform in self.platforms.items() if platform.ended is None)


notebook_facts = reader(NotebookFacts, "sagemaker_notebooks")


class NotebookPlatform(str):
    """A platform of notebook instances: a string that skips the catalog's check when `NotebookPlatform.of` makes it."""

    __slots__ = ()

    @classmethod
    def al2023(cls) -> Self:
        """Return Amazon Linux 2023 with JupyterLab 4, the default."""
        return cls(notebook_facts().default_platform)

    @classmethod
    def of(cls, name: str) -> Self:
        """Return a platform that is newer than this release of llm-fleet, e.g. `notebook-al2028-v1`.

        Constructs reject a platform that has ended (LF910).
        """
        return cls(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioFacts:
    """Limits and values of Studio domains."""

    default_instance: str
    default_idle_minutes: int
    default_volume_gib: int
    default_maximum_volume_gib: int
    idle_minutes: Limit
    volume_gib: Limit
    """GiB of the EBS volume of a space."""
    uid: Limit
    gid: Limit
    domain_name: Limit
    user_name: Limit
    """Limits of a user profile's name."""
    script_name: Limit
    script_characters: Limit
    """Limits of a lifecycle configuration's base64 content."""
    lustre_directory: Limit
    repository_url: Limit
    repositories: int
    addresses_per_user: int
    """The maximum that AWS recommends to reserve."""
    addresses_of_home: int
    """Addresses of an EFS mount target, one in each subnet."""
    example_uid: int
    log_group: str
    """The log group of apps and lifecycle scripts of all domains; stream names begin with the domain id."""
    retired_families: Mapping[str, str]
    """Families that AWS closed to new customers, with an instance type to use instead."""
    unknown_to_cloudformation: tuple[str, ...]
    """Families of the API that CloudFormation's schema does not list."""
    families: Mapping[str, tuple[str, ...]]
    """The sizes of each family, in the order of the API's list."""

    @property
    def instances(self) -> tuple[str, ...]:
        """Types by their `ml.` names."""
        return tuple(f"ml.{family}.{size}" for family, sizes in self.families.items() for size in sizes)


studio_facts = reader(StudioFacts, "studio")
