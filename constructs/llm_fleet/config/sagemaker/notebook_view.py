"""A notebook of the fleet file as the rules see it."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.notebook import NotebookConfig
from llm_fleet.config.sagemaker.repository import RepositoryConfig
from llm_fleet.rules.terms import InternetAccess


def notebook_name(fleet_name: str, config: NotebookConfig) -> str:
    """Return the name of the instance, which is unique in account and region: the fleet's, then its own."""
    return f"{fleet_name}-{config.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredNotebook:
    """What the rules judge (`NotebookLike`)."""

    config: NotebookConfig
    fleet: Fleet

    @property
    def notebook_name(self) -> str:
        """Fleet and notebook."""
        return notebook_name(self.fleet.name, self.config)

    @property
    def instance_type(self) -> str:
        """As written."""
        return self.config.instance_type

    @property
    def platform(self) -> str:
        """As written."""
        return self.config.platform

    @property
    def volume_gib(self) -> int:
        """As written."""
        return self.config.volume_gib

    @property
    def idle_minutes(self) -> int | None:
        """As written."""
        return self.config.idle_minutes

    @property
    def repositories(self) -> Sequence[RepositoryConfig]:
        """As written."""
        return self.config.repositories

    @property
    def pins(self) -> Sequence[str]:
        """As written."""
        return self.config.pins

    @property
    def name_prefixes(self) -> Sequence[str]:
        """As written."""
        return self.config.name_prefixes

    @property
    def internet(self) -> bool:
        """As written."""
        return self.config.internet

    @property
    def has_network(self) -> bool:
        """Whether the fleet has one."""
        return self.fleet.network is not None

    @property
    def network_internet(self) -> InternetAccess | None:
        """How it leads out; `None` of one that exists already, of which nobody told."""
        network = self.fleet.network
        return network.internet if network is not None and network.vpc is None else None
