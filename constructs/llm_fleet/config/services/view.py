"""A service of the fleet file as the rules see it."""

from dataclasses import dataclass

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.services.front import FrontConfig
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.servers import AnyServer
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.rules.inference.terms import Capacity


def service_name(fleet_name: str, config: ServiceConfig) -> str:
    """Return what ECS knows a service by, and how its stack is called."""
    return f"{fleet_name}-{config.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsView:
    """The instances under a service (`HostsLike`)."""

    config: ServiceConfig

    @property
    def capacity(self) -> Capacity:
        """As written."""
        return self.config.hosts.capacity

    @property
    def instance_type(self) -> str:
        """As written."""
        return self.config.instance_type

    @property
    def root_volume_gib(self) -> int | None:
        """As written."""
        return self.config.hosts.root_volume_gib

    @property
    def ami(self) -> str | None:
        """As written."""
        return self.config.hosts.ami

    @property
    def driver_version(self) -> str | None:
        """As written."""
        return self.config.hosts.driver_version

    @property
    def install_driver(self) -> bool:
        """As written, else where the hosts are ours."""
        told = self.config.hosts.install_driver
        return self.capacity is Capacity.EC2 if told is None else told


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingView:
    """How many tasks a service has (`ScalingLike`)."""

    config: ServiceConfig

    @property
    def desired(self) -> int:
        """As written."""
        return self.config.desired

    @property
    def minimum(self) -> int | None:
        """As written."""
        return self.config.minimum

    @property
    def maximum(self) -> int | None:
        """As written."""
        return self.config.maximum

    @property
    def queue_target(self) -> float | None:
        """As written."""
        return self.config.scaling.queue_target

    @property
    def requests_per_minute_target(self) -> float | None:
        """As written."""
        return self.config.scaling.requests_per_minute_target


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """A service with what the rest of the fleet file says of it (`ServiceLike`)."""

    config: ServiceConfig
    fleet: Fleet

    @property
    def name(self) -> str:
        """What ECS knows it by: the fleet's name before its key, as two fleets of an account may both have a `chat`."""
        return service_name(self.fleet.name, self.config)

    @property
    def region(self) -> str:
        """The fleet's."""
        return self.fleet.region

    @property
    def server(self) -> AnyServer:
        """As written."""
        return self.config.server

    @property
    def model(self) -> ServedModelConfig:
        """As written."""
        return self.config.model

    @property
    def hosts(self) -> HostsView:
        """As written."""
        return HostsView(config=self.config)

    @property
    def scaling(self) -> ScalingView:
        """As written."""
        return ScalingView(config=self.config)

    @property
    def front(self) -> FrontConfig:
        """As written."""
        return self.config.front
