"""The whole fleet file: its network, its storage, and all that stands on them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from llm_fleet.catalog.network import regions
from llm_fleet.fleet_file.clusters import AnyCluster, HyperPodConfig, ParallelClusterConfig
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model import FleetModel, Later, name_entries
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec
from llm_fleet.spec.storage import (
    BucketSpec,
    DataRepository,
    ExistingLustre,
    ExistingOpenZfs,
    LustreSpec,
    OpenZfsSpec,
    OpenZfsVolumeSpec,
)

_ELSEWHERE = "usw2"


class NetworkConfig(NetworkSpec):
    """A VPC made for the fleet, or an existing one under `vpc`."""

    vpc: ExistingNetworkSpec | None = None
    """A network that exists already. Then nothing else may stand here."""

    @property
    def way_out(self) -> InternetAccess | None:
        """How the network leads out; `None` of one that exists already, of which the file does not say."""
        return self.internet if self.vpc is None else None

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, the first one first."""
        return tuple(self.vpc.subnets) if self.vpc is not None else super().zones


def network_of_services(region: object) -> str:
    """Return a network as a fleet file has it that services can stand in: a load balancer needs two AZs.

    `region` may be anything.
    """
    known = regions().get(region) if isinstance(region, str) else None
    prefix = known.az_id_prefix if known else _ELSEWHERE
    return f"{{azs: [{prefix}-az1, {prefix}-az2]}}"


FSX, HOME = "fsx", "home"
"""Names of the fleet's file systems in its clusters."""


class FleetLustre(LustreSpec):
    """An FSx for Lustre file system that every node of the fleet mounts, made for it or existing."""

    import_from: Annotated[str | None, Field(alias="import")] = None
    """A bucket, or a prefix of it, that the whole file system mirrors: short for a data repository at `/`."""
    data_repositories: tuple[DataRepository, ...] = ()
    """Folders that mirror buckets. Default: none."""
    mount_path: Annotated[str, Field(alias="mount")] = "/fsx"
    """Where nodes mount it. Default: `/fsx`."""
    existing: ExistingLustre | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""

    @property
    def repositories(self) -> tuple[DataRepository, ...]:
        """All data repositories, that of `import` last."""
        if self.import_from is None:
            return self.data_repositories
        return (*self.data_repositories, DataRepository(file_system_path="/", s3=self.import_from))


class FleetVolume(OpenZfsVolumeSpec):
    """A volume of the fleet's OpenZFS file system, kept when the fleet goes. Its key is its name.

    Under another key it is another volume, and empty.
    """

    mount_path: Annotated[str, Field(alias="mount", examples=["/apps"])]
    """Where the nodes of every ParallelCluster mount it. HyperPod's nodes do not."""


class FleetOpenZfs(OpenZfsSpec):
    """An FSx for OpenZFS file system for home directories, made for the fleet or existing."""

    mount_path: Annotated[str, Field(alias="mount")] = "/home"
    """Where nodes mount it. Default: `/home`."""
    volumes: Annotated[Mapping[str, FleetVolume], Field(examples=[{"apps": {"mount": "/apps"}}])] = {}
    """Volumes of it that every ParallelCluster mounts elsewhere, e.g. at `/apps`, by name. Default: none."""
    existing: ExistingOpenZfs | None = None
    """A file system that exists already. Then only `mount` may stand next to it."""


class StorageConfig(FleetModel):
    """What outlives the clusters."""

    fsx: FleetLustre | None = None
    """An FSx for Lustre file system for data and checkpoints. Default: none."""
    home: FleetOpenZfs | None = None
    """An FSx for OpenZFS file system for home directories. Default: none; homes are then on the controller."""
    slurm_database: SlurmDatabaseSpec | None = Field(default=None, examples=["{}"])
    """A database for Slurm's accounting, for clusters with `accounting: slurm_database`. Default: none."""
    buckets: Mapping[str, BucketSpec] = {}
    """Buckets for data and models, by name. Default: none."""


if TYPE_CHECKING:
    from llm_fleet.fleet_file.jobs import JobConfig
    from llm_fleet.fleet_file.monitoring import MonitoringConfig, WatchConfig
    from llm_fleet.fleet_file.sagemaker import (
        EndpointConfig,
        NotebookConfig,
        StudioConfig,
        TrainingJobConfig,
    )
    from llm_fleet.fleet_file.service import ServiceConfig
else:  # What a fleet does not have is not imported.
    JobConfig = Annotated[Any, Later("llm_fleet.fleet_file.jobs", "JobConfig")]
    MonitoringConfig = Annotated[Any, Later("llm_fleet.fleet_file.monitoring", "MonitoringConfig")]
    EndpointConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "EndpointConfig")]
    NotebookConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "NotebookConfig")]
    StudioConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "StudioConfig")]
    TrainingJobConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "TrainingJobConfig")]
    WatchConfig = Annotated[Any, Later("llm_fleet.fleet_file.monitoring", "WatchConfig")]
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
    def _report_entries(self) -> Self:
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
