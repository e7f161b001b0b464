"""The whole fleet file."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.model import FleetModel
from llm_fleet.config.named import name_entries
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.storage import StorageConfig
from llm_fleet.config.values import none_word


class Fleet(FleetModel):
    """Everything that one fleet file asks for: a network, storage, and the clusters that live in them."""

    name: str = Field(alias="fleet", examples=["launch-post"])
    """The fleet's name; the names of its stacks begin with it."""
    region: str = Field(examples=["us-west-2"])
    """The AWS Region where all of it stands, e.g. `us-west-2`."""
    network: Annotated[NetworkConfig | None, BeforeValidator(none_word)] = Field(examples=["none"])
    """The VPC; `none` leaves the clusters in the service's own network, which cannot reach a file system."""
    storage: StorageConfig = StorageConfig()
    """File systems and buckets, which outlive the clusters. Default: none."""
    clusters: Mapping[str, HyperPodConfig] = {}
    """The clusters, by name. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of everything in the fleet. Default: none."""

    @model_validator(mode="after")
    def _tell_clusters(self) -> Self:
        name_entries(self.clusters)
        return self
