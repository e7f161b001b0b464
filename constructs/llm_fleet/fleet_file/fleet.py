"""The whole fleet file."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.clusters import AnyCluster
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.fleet_file.storage import StorageConfig
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model import FleetModel, name_entries
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.shape import Later

if TYPE_CHECKING:
    from llm_fleet.fleet_file.jobs.job import JobConfig
    from llm_fleet.fleet_file.monitoring import MonitoringConfig
    from llm_fleet.fleet_file.sagemaker import (
        EndpointConfig,
        NotebookConfig,
        StudioConfig,
        TrainingJobConfig,
        WatchConfig,
    )
    from llm_fleet.fleet_file.service import ServiceConfig
else:  # What a fleet does not have is not imported.
    JobConfig = Annotated[Any, Later("llm_fleet.fleet_file.jobs.job", "JobConfig")]
    MonitoringConfig = Annotated[Any, Later("llm_fleet.fleet_file.monitoring", "MonitoringConfig")]
    EndpointConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "EndpointConfig")]
    NotebookConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "NotebookConfig")]
    StudioConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "StudioConfig")]
    TrainingJobConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "TrainingJobConfig")]
    WatchConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "WatchConfig")]
    ServiceConfig = Annotated[Any, Later("llm_fleet.fleet_file.service", "ServiceConfig")]

NO_NETWORK = "none"
"""What a user writes for no network; `build` reads it as nothing."""


def _or_none(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": NO_NETWORK} for arm in schema["anyOf"]]


class Fleet(FleetModel):
    """Everything that one fleet file asks for: a network, storage, and the clusters, services and more in them."""

    name: str = Field(alias="fleet", examples=["launch-post"])
    """The fleet's name; the names of its stacks begin with it."""
    region: str = Field(examples=["us-west-2"])
    """The AWS Region where all of it stands, e.g. `us-west-2`."""
    network: NetworkConfig | None = Field(examples=[NO_NETWORK, "{az: usw2-az4}"], json_schema_extra=_or_none)
    """The VPC; `none` leaves the clusters in the service's own network, which cannot reach a file system;
    services need one."""
    storage: StorageConfig = StorageConfig()
    """File systems and buckets, which outlive the clusters. Default: none."""
    users: Mapping[str, ClusterUser] = {}
    """People of every cluster by login name, so that they are written once. Default: none; each cluster has its own."""
    directory: Directory | None = None
    """An LDAP directory that every cluster's nodes know further people from. Default: none."""
    clusters: Mapping[str, AnyCluster] = {}
    """The clusters, by name. Default: none."""
    services: Mapping[str, ServiceConfig] = {}
    """Models behind OpenAI-compatible endpoints, by name. Default: none."""
    jobs: Mapping[str, JobConfig] = {}
    """Training runs on the clusters, by name; for `llm-fleet jobs`, nothing is deployed of them. Default: none."""
    notebooks: Mapping[str, NotebookConfig] = {}
    """Notebook instances of SageMaker, by name. Default: none."""
    studio: StudioConfig | None = None
    """SageMaker Studio, the alternative to notebook instances. Default: none."""
    endpoints: Mapping[str, EndpointConfig] = {}
    """Models behind endpoints of SageMaker, by name. Default: none."""
    training_jobs: Mapping[str, TrainingJobConfig] = {}
    """Training jobs that SageMaker runs without a cluster, by name. Default: none."""
    watch: WatchConfig | None = None
    """Who starts training jobs again that failed, and tells what happens to clusters. Default: nobody."""
    monitoring: MonitoringConfig | None = None
    """What is watched of clusters, who is told, and what a month may cost. Default: nothing."""
    tags: Mapping[str, str] = {}
    """Tags of everything in the fleet. Default: none."""
    termination_protection: bool = True
    """Whether CloudFormation refuses to delete the stacks of network, storage and database, which others stand on.
    Default: it does; deploy with `false` before you destroy the fleet."""

    @model_validator(mode="after")
    def _tell_entries(self) -> Self:
        name_entries(self.clusters)
        for cluster in self.clusters.values():
            cluster.join(self.users, self.directory)
        return self

    @property
    def way_out(self) -> InternetAccess | None:
        """How the fleet's network leads out; `None` without one, and of one that exists already."""
        return self.network.way_out if self.network is not None else None

    @property
    def first_zone(self) -> str | None:
        """The AZ id where things stand that the file gives none; `None` without a network."""
        zones = self.network.zones if self.network is not None else ()
        return zones[0] if zones else None

    @property
    def zone_of_fsx(self) -> str | None:
        """The AZ id of the Lustre file system; `None` when there is none, or nothing says where an existing one is."""
        fsx = self.storage.fsx
        if fsx is None:
            return None
        return fsx.existing.availability_zone_id if fsx.existing else fsx.availability_zone_id or self.first_zone

    @property
    def zone_of_home(self) -> str | None:
        """The AZ id of the OpenZFS file system, likewise."""
        home = self.storage.home
        if home is None:
            return None
        return home.existing.availability_zone_id if home.existing else home.availability_zone_id or self.first_zone

    @property
    def hyperpod_clusters(self) -> Mapping[str, HyperPodConfig]:
        """The clusters on HyperPod, by name."""
        return {name: cluster for name, cluster in self.clusters.items() if isinstance(cluster, HyperPodConfig)}

    @property
    def parallelclusters(self) -> Mapping[str, ParallelClusterConfig]:
        """The clusters on ParallelCluster, by name."""
        return {name: cluster for name, cluster in self.clusters.items() if isinstance(cluster, ParallelClusterConfig)}
