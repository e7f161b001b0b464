"""An endpoint of the fleet file as the rules see it."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.endpoint import EndpointConfig
from llm_fleet.config.sagemaker.endpoint_image import EndpointImageConfig
from llm_fleet.config.sagemaker.endpoint_model import EndpointModelConfig
from llm_fleet.config.sagemaker.endpoint_neuron import EndpointNeuronConfig
from llm_fleet.rules.terms import InternetAccess


def endpoint_name(fleet_name: str, config: EndpointConfig) -> str:
    """Return what SageMaker knows it by, which is unique in account and region: the fleet's name, then its own."""
    return f"{fleet_name}-{config.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEndpoint:
    """What the rules judge (`EndpointLike`)."""

    config: EndpointConfig
    fleet: Fleet

    @property
    def name(self) -> str:
        """Fleet and endpoint."""
        return endpoint_name(self.fleet.name, self.config)

    @property
    def region(self) -> str:
        """The fleet's."""
        return self.fleet.region

    @property
    def model(self) -> EndpointModelConfig:
        """As written."""
        return self.config.model

    @property
    def image(self) -> EndpointImageConfig:
        """As written."""
        return self.config.image

    @property
    def instance_type(self) -> str:
        """As written."""
        return self.config.instance_type

    @property
    def instance_count(self) -> int:
        """As written."""
        return self.config.instance_count

    @property
    def inference_ami(self) -> str | None:
        """As written."""
        return self.config.inference_ami

    @property
    def neuron(self) -> EndpointNeuronConfig | None:
        """As written."""
        return self.config.neuron

    @property
    def volume_gib(self) -> int | None:
        """As written."""
        return self.config.volume_gib

    @property
    def download_timeout_seconds(self) -> int | None:
        """As written."""
        return self.config.download_timeout_seconds

    @property
    def startup_timeout_seconds(self) -> int | None:
        """As written."""
        return self.config.startup_timeout_seconds

    @property
    def network_isolation(self) -> bool:
        """As written."""
        return self.config.network_isolation

    @property
    def environment(self) -> Mapping[str, str]:
        """As written."""
        return self.config.environment

    @property
    def in_network(self) -> bool:
        """As written, else where the fleet has one."""
        told = self.config.in_network
        return self.fleet.network is not None if told is None else told

    @property
    def internet(self) -> InternetAccess | None:
        """How the fleet's network leads out; `None` of one that exists already, of which nobody told."""
        network = self.fleet.network
        return network.internet if network is not None and network.vpc is None else None
