"""The whole fleet file: network, storage, and everything that uses them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from llm_fleet.catalog.network import regions
from llm_fleet.fleet_file.clusters import AnyCluster, HyperPodConfig, ParallelClusterConfig
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model import FleetModel, Later, name_entries
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.references import Key
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
    """A new VPC for the fleet, or an existing one under `vpc`."""

    vpc: ExistingNetworkSpec | None = None
    """An existing network with its own routes and endpoints, in which nothing is created. Then no other key is allowed
    here."""

    @property
    def existing_vpc_id(self) -> str | None:
        """Id of the VPC, which may be a token; `None` for a new one."""
        return self.vpc.vpc_id if self.vpc is not None else self.existing.vpc if self.existing is not None else None

    @property
    def existing_subnet_ids(self) -> Mapping[str, str]:
        """Ids of the existing compute subnets, by AZ id."""
        if self.vpc is not None:
            return self.vpc.subnet_ids
        return self.existing.subnets if self.existing is not None else {}

    @property
    def existing_security_group(self) -> tuple[str, tuple[str, ...]] | None:
        """Id of the existing security group of nodes, and its path in the fleet file."""
        vpc = self.vpc is not None
        existing = self.existing.security_group if self.existing is not None else None
        group_id = self.vpc.security_group_id if self.vpc is not None else existing
        return (group_id, ("network", "vpc" if vpc else "existing", "security_group")) if group_id else None

    @property
    def way_out(self) -> InternetAccess | None:
        """Internet access of the network; `None` for an existing network, where it is unknown."""
        return self.internet if self.vpc is None else None

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet; the first is the default AZ."""
        return tuple(self.vpc.subnets) if self.vpc is not None else super().zones


def network_of_services(region: object) -> str:
    """Return an example of a network that services can use: a load balancer needs two AZs.

    `region` may be any value.
    """
    known = regions().get(region) if isinstance(region, str) else None
    prefix = known.az_id_prefix if known else _ELSEWHERE
    return f"{{azs: [{prefix}-az1, {prefix}-az2]}}"


FSX, HOME = "fsx", "home"
"""Names of the fleet's file systems in its clusters."""


class FleetLustre(LustreSpec):
    """An FSx for Lustre file system that every node of the fleet mounts, new or existing."""

    import_from: Annotated[str | None, Field(alias="import")] = None
    """A bucket, or a prefix in it, that the whole file system is linked to: short for a data repository at `/`."""
    data_repositories: tuple[DataRepository, ...] = ()
    """Folders that are linked to buckets. Default: none."""
    mount_path: Annotated[str, Field(alias="mount")] = "/fsx"
    """Path where nodes mount it. Default: `/fsx`."""
    existing: ExistingLustre | None = None
    """An existing file system. Then only `mount` is allowed next to it."""

    @property
    def repositories(self) -> tuple[DataRepository, ...]:
        """All data repositories, that of `import` last."""
        if self.import_from is None:
            return self.data_repositories
        return (*self.data_repositories, DataRepository(file_system_path="/", s3=self.import_from))


class FleetVolume(OpenZfsVolumeSpec):
    """A volume of the fleet's OpenZFS file system, retained when the fleet is deleted. Its key is its name.

    Another key means a new, empty volume.
    """

    mount_path: Annotated[str, Field(alias="mount", examples=["/apps"])]
    """Path where the nodes of every ParallelCluster mount it. HyperPod's nodes do not mount it."""


class FleetOpenZfs(OpenZfsSpec):
    """An FSx for OpenZFS file system for home directories, new or existing."""

    mount_path: Annotated[str, Field(alias="mount")] = "/home"
    """Path where nodes mount it. Default: `/home`."""
    volumes: Annotated[Mapping[str, FleetVolume], Field(examples=[{"apps": {"mount": "/apps"}}])] = {}
    """Additional volumes that every ParallelCluster mounts, e.g. at `/apps`, by name. Default: none."""
    existing: ExistingOpenZfs | None = None
    """An existing file system. Then only `mount` is allowed next to it."""


class FleetBucket(BucketSpec):
    """A bucket of the fleet, new or existing. It is retained when the fleet is deleted."""

    existing: bool = False
    """Whether the bucket `name` exists already, with `key` as its KMS key. Nothing of it is changed. Default: no, it is
    created."""


class StorageConfig(FleetModel):
    """Storage, which is retained when clusters are deleted."""

    fsx: FleetLustre | None = None
    """An FSx for Lustre file system for data and checkpoints. Default: none."""
    home: FleetOpenZfs | None = None
    """An FSx for OpenZFS file system for home directories. Default: none; home directories are then on the
    controller."""
    slurm_database: SlurmDatabaseSpec | None = Field(default=None, examples=["{}"])
    """A database for Slurm's accounting, for clusters with `accounting: slurm_database`. Default: none."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key of everything here without its own, and of logs next to it, by ARN; its policy must let CloudWatch Logs
    use it, and FSx if a file system is linked to a bucket. Default: a new key."""
    buckets: Mapping[str, FleetBucket] = {}
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
else:  # Parts that a fleet does not have are not imported.
    JobConfig = Annotated[Any, Later("llm_fleet.fleet_file.jobs", "JobConfig")]
    MonitoringConfig = Annotated[Any, Later("llm_fleet.fleet_file.monitoring", "MonitoringConfig")]
    EndpointConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "EndpointConfig")]
    NotebookConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "NotebookConfig")]
    StudioConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "StudioConfig")]
    TrainingJobConfig = Annotated[Any, Later("llm_fleet.fleet_file.sagemaker", "TrainingJobConfig")]
    WatchConfig = Annotated[Any, Later("llm_fleet.fleet_file.monitoring", "WatchConfig")]
    ServiceConfig = Annotated[Any, Later("llm_fleet.fleet_file.service", "ServiceConfig")]

NO_NETWORK = "none"
"""The word for no network; `build` reads it as `None`."""


def _or_none(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": NO_NETWORK} for arm in schema["anyOf"]]


class Fleet(FleetModel):
    """A fleet file: a network, storage, and the clusters, services and other parts that use them."""

    name: str = Field(alias="fleet", examples=["launch-post"])
    """The fleet's name, which is the prefix of its stack names."""
    region: str = Field(examples=["us-west-2"])
    """AWS Region of the whole fleet, e.g. `us-west-2`."""
    network: NetworkConfig | None = Field(examples=[NO_NETWORK, "{az: usw2-az4}"], json_schema_extra=_or_none)
    """The VPC. Inference services and ParallelClusters need one. `none`: no VPC; HyperPod clusters are then in
    HyperPod's own network, which cannot reach a file system."""
    storage: StorageConfig = StorageConfig()
    """File systems and buckets, which are retained when clusters are deleted. Default: none."""
    users: Mapping[str, ClusterUser] = {}
    """POSIX users of every cluster, by login name. Default: none; each cluster has its own users."""
    directory: Directory | None = None
    """An LDAP directory with more users of every cluster. Default: none."""
    clusters: Mapping[str, AnyCluster] = {}
    """The clusters, by name. Default: none."""
    services: Mapping[str, ServiceConfig] = {}
    """Models behind an OpenAI-compatible API, by name. Default: none."""
    jobs: Mapping[str, JobConfig] = {}
    """Training runs on the clusters, by name; `llm-fleet jobs` submits them, and nothing is deployed for them. Default:
    none."""
    notebooks: Mapping[str, NotebookConfig] = {}
    """SageMaker notebook instances, by name. Default: none."""
    studio: StudioConfig | None = None
    """SageMaker Studio, the alternative to notebook instances. Default: none."""
    endpoints: Mapping[str, EndpointConfig] = {}
    """Models behind SageMaker endpoints, by name. Default: none."""
    training_jobs: Mapping[str, TrainingJobConfig] = {}
    """SageMaker training jobs, which run without a cluster, by name. Default: none."""
    watch: WatchConfig | None = None
    """Restarts failed training jobs and sends notifications about clusters. Default: none."""
    monitoring: MonitoringConfig | None = None
    """Monitoring of clusters: alarms, notifications, metrics and the monthly budget. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of all resources of the fleet. Default: none."""
    termination_protection: bool = True
    """Whether CloudFormation prevents deletion of the stacks of network, storage and database, which other stacks use.
    Default: yes; deploy with `false` before you destroy the fleet."""

    @model_validator(mode="after")
    def _report_entries(self) -> Self:
        name_entries(self.clusters)
        for cluster in self.clusters.values():
            cluster.join(self.users, self.directory)
        return self

    @property
    def way_out(self) -> InternetAccess | None:
        """Internet access of the fleet's network; `None` without a network, and for an existing one."""
        return self.network.way_out if self.network is not None else None

    @property
    def first_zone(self) -> str | None:
        """AZ id of parts for which the file sets none; `None` without a network."""
        zones = self.network.zones if self.network is not None else ()
        return zones[0] if zones else None

    @property
    def zone_of_fsx(self) -> str | None:
        """AZ id of the Lustre file system; `None` if there is none, or if that of an existing one is unknown."""
        fsx = self.storage.fsx
        if fsx is None:
            return None
        return fsx.existing.availability_zone_id if fsx.existing else fsx.availability_zone_id or self.first_zone

    @property
    def zone_of_home(self) -> str | None:
        """AZ id of the OpenZFS file system; `None` if there is none, or if that of an existing one is unknown."""
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
