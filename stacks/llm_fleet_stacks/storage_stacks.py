"""The long-lived stacks: network, storage and accounting database; and the shared parameters of the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.fleet import Fleet, FleetBucket, FleetLustre, FleetOpenZfs, NetworkConfig, StorageConfig
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.references import bucket_of, key_of
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec
from llm_fleet.spec.storage import BucketSpec, DataRepository, LustreDeploymentType, LustreSpec, OpenZfsSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket, FleetKey
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem, OpenZfsVolume
from llm_fleet_stacks.fleet_stack import FleetStack, network_for

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase
    from llm_fleet.hyperpod.hyperpod_cluster import HyperPodCluster
    from llm_fleet.parallelcluster.parallel_cluster import ParallelCluster
    from llm_fleet.sagemaker.workbench import ReachableCluster


class NetworkStack(FleetStack):
    """A VPC for a fleet, and the key of its flow logs.

    The key is not that of the storage: access to flow logs must not give access to data.
    """

    def __init__(self, scope: Construct, *, fleet: Fleet, env: cdk.Environment, config: NetworkConfig) -> None:
        """Make the network that `config` of `fleet` describes."""
        super().__init__(scope, "network", fleet=fleet, env=env, description="Network of an LLM fleet", outlives=True)
        has_key = config.existing is not None and config.existing.encryption_key is not None
        self.key = None if has_key else FleetKey(self, "Key", description="Encrypts the flow logs of an LLM fleet")
        """Encrypts the flow logs; `None` if the fleet file names an existing key."""
        self.network = FleetNetwork(
            self,
            "Network",
            config.narrowed(NetworkSpec),
            endpoint_features=endpoint_features(fleet),
            encryption_key=self.key,
        )
        """The network, for the stacks that use it."""
        cdk.CfnOutput(self, "VpcId", value=self.network.vpc.vpc_id, description="Id of the fleet's VPC")

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        network = self.network
        self.offer(network.vpc.vpc_id, network.security_group.security_group_id, *network.subnet_ids)


class StorageStack(FleetStack):
    """File systems, buckets, that of clusters' lifecycle bundles, and the key that encrypts them. All are retained."""

    def __init__(
        self,
        scope: Construct,
        *,
        fleet: Fleet,
        env: cdk.Environment,
        network: Network | NetworkConfig | None,
        lifecycle_bucket: bool,
    ) -> None:
        """Make the storage of `fleet`.

        `network`: one that another stack has made, or the description of an existing one; `None` allows no file
        system. `lifecycle_bucket`: whether there is a bucket for the scripts of clusters' nodes; services do not
        use one.
        """
        super().__init__(scope, "storage", fleet=fleet, env=env, description="Storage of an LLM fleet", outlives=True)
        config = fleet.storage
        self._shared_groups: dict[str, ec2.ISecurityGroup] = {}
        self.key: kms.IKey = key_of(self, "Key", config.encryption_key) or cast(
            kms.IKey, FleetKey(self, "Key", description="Encrypts the storage of an LLM fleet")
        )
        """Encrypts everything without its own key."""
        self.access_logs = AccessLogBucket(self, "AccessLogs")
        """The bucket of the buckets' access logs."""
        self.buckets: Mapping[str, s3.IBucket] = {
            name: self._bucket(name, bucket) for name, bucket in config.buckets.items()
        }
        """Data and model buckets, by their names in the fleet file."""
        here = network_for(self, network)
        self.lustre = _lustre_of(self, config.fsx, network=here, key=self.key, buckets=self._by_name(config))
        """The Lustre file system, if there is one."""
        self.open_zfs = _open_zfs_of(self, config.home, network=here, key=self.key)
        """The OpenZFS file system, if there is one."""
        self.volumes: Mapping[str, OpenZfsVolume] = _volumes_of(self.open_zfs, config.home)
        """Volumes of the OpenZFS file system, by their names in the fleet file."""
        self._lifecycle_bucket = self._make_lifecycle_bucket(fleet.name) if lifecycle_bucket else None
        self._add_outputs()

    def _bucket(self, name: str, config: FleetBucket) -> s3.IBucket:
        """Return a new bucket, or the existing one that `config` names."""
        if config.existing:
            key = key_of(self, f"KeyOfBucket-{name}", config.encryption_key)
            return s3.Bucket.from_bucket_attributes(
                self, f"Bucket-{name}", bucket_name=config.bucket_name, encryption_key=key
            )
        spec = config.narrowed(BucketSpec, encryption_key=config.encryption_key or self.key)
        return cast(s3.IBucket, DataBucket(self, f"Bucket-{name}", spec, access_log_bucket=self.access_logs))

    @property
    def bucket_places(self) -> Mapping[str, tuple[str, str | None]]:
        """Name and key's ARN of each of `buckets`."""
        return {
            name: (bucket.bucket_name, key.key_arn if (key := bucket.encryption_key) else None)
            for name, bucket in self.buckets.items()
        }

    @property
    def lifecycle_bucket(self) -> LifecycleBucket:
        """Where the clusters' nodes take their scripts from. Raises `ValueError` without such a bucket."""
        if self._lifecycle_bucket is None:
            raise ValueError(f"{self.node.id} was made without a bucket for the scripts of clusters")
        return self._lifecycle_bucket

    def shared_security_group(self, group_id: str) -> ec2.ISecurityGroup:
        """Return the security group of that id, imported once for all stacks of the fleet.

        Its rules are in this stack: EC2 rejects a duplicate rule, and another cluster's stack may need the same.
        """
        if group_id not in self._shared_groups:
            self._shared_groups[group_id] = ec2.SecurityGroup.from_security_group_id(
                self, f"SharedSecurityGroup-{group_id}", group_id
            )
        return self._shared_groups[group_id]

    def _make_lifecycle_bucket(self, fleet_name: str) -> LifecycleBucket:
        return LifecycleBucket(
            self,
            "LifecycleBucket",
            name_part=fleet_name,
            encryption_key=self.key,
            access_log_bucket=self.access_logs,
            # Its bundles come with the clusters' stacks: a failed first deployment of this one finds it empty.
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )

    def _by_name(self, config: StorageConfig) -> dict[str, s3.IBucket]:
        """Return the fleet's own buckets that the file names as S3 does, by those names."""
        named = {bucket.bucket_name: self.buckets[name] for name, bucket in config.buckets.items()}
        return {name: bucket for name, bucket in named.items() if name is not None}

    def _add_outputs(self) -> None:
        if isinstance(self.lustre, LustreFileSystem):
            cdk.CfnOutput(self, "LustreId", value=self.lustre.file_system_id, description="Id of FSx for Lustre")
        if isinstance(self.open_zfs, OpenZfsFileSystem):
            cdk.CfnOutput(self, "OpenZfsId", value=self.open_zfs.file_system_id, description="Id of FSx for OpenZFS")
        for name, volume in self.volumes.items():
            cdk.CfnOutput(self, f"VolumeId-{name}", value=volume.volume_id, description=f"Id of OpenZFS volume {name}")
        for name, bucket in self.buckets.items():
            cdk.CfnOutput(self, f"BucketName-{name}", value=bucket.bucket_name, description=f"Name of bucket {name}")

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        self.offer(self.key.key_arn)
        own = [self._lifecycle_bucket.bucket] if self._lifecycle_bucket else []
        for bucket in (*self.buckets.values(), *own):
            self.offer(bucket.bucket_arn, bucket.bucket_name)
        if isinstance(self.lustre, LustreFileSystem):
            self.offer(self.lustre.file_system_id, self.lustre.dns_name, self.lustre.mount_name)
            self.offer(self.lustre.security_group.security_group_id)
        if isinstance(self.open_zfs, OpenZfsFileSystem):
            self.offer(self.open_zfs.file_system_id, self.open_zfs.dns_name, self.open_zfs.volume_id)
            self.offer(self.open_zfs.security_group.security_group_id)
        self.offer(*(volume.volume_id for volume in self.volumes.values()))


_TAKES_A_KEY = (LustreDeploymentType.PERSISTENT_1, LustreDeploymentType.PERSISTENT_2)


def _lustre_of(
    scope: Construct,
    config: FleetLustre | None,
    *,
    network: Network | None,
    key: kms.IKey,
    buckets: Mapping[str, s3.IBucket],
) -> MountableLustre | None:
    """Return the Lustre file system of `config`, encrypted with `key` unless it names another; `None` without one.

    A link to one of `buckets`, the fleet's own by name, waits for it and may use its key.
    """
    if config is None or network is None:  # the rules reject a fleet file with only one of them
        return None
    if config.existing:
        return LustreFileSystem.from_attributes(scope, "Lustre", config.existing)
    takes_key = config.deployment_type in _TAKES_A_KEY
    spec = config.narrowed(LustreSpec, encryption_key=config.encryption_key or (key if takes_key else None))
    file_system = LustreFileSystem(scope, "Lustre", spec, network=network)
    for index, repository in enumerate(config.repositories):
        file_system.add_data_repository(f"Repository{index}", _of_own_bucket(repository, buckets))
    return file_system


def _of_own_bucket(repository: DataRepository, buckets: Mapping[str, s3.IBucket]) -> DataRepository:
    """Return `repository` with the bucket itself where it is one of `buckets`."""
    name, _, prefix = repository.data_repository_path.removeprefix("s3://").partition("/")
    own = buckets.get(name)
    return repository if own is None else repository.narrowed(DataRepository, s3=own, prefix=prefix)


def _open_zfs_of(
    scope: Construct, config: FleetOpenZfs | None, *, network: Network | None, key: kms.IKey
) -> MountableOpenZfs | None:
    """Return the OpenZFS file system of `config`, encrypted with `key` unless it names another; `None` without one."""
    if config is None or network is None:
        return None
    if config.existing:
        return OpenZfsFileSystem.from_attributes(scope, "Home", config.existing)
    spec = config.narrowed(OpenZfsSpec, encryption_key=config.encryption_key or key)
    return OpenZfsFileSystem(scope, "Home", spec, network=network)


def _volumes_of(file_system: MountableOpenZfs | None, config: FleetOpenZfs | None) -> dict[str, OpenZfsVolume]:
    """Return the volumes of `config` in addition to the home directories, created on `file_system`, by name."""
    if config is None or not isinstance(file_system, OpenZfsFileSystem):
        return {}
    return {name: file_system.add_volume(f"Volume-{name}", volume) for name, volume in config.volumes.items()}


class DatabaseStack(FleetStack):
    """A database for Slurm's accounting, and the key that encrypts it and its secrets.

    The key is not that of the storage: controllers use it to read their password, and must not read data with it.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        fleet: Fleet,
        env: cdk.Environment,
        network: Network | NetworkConfig,
        config: SlurmDatabaseSpec,
    ) -> None:
        """Make the database of `fleet` that `config` describes.

        `network`: one that another stack has made, or the description of an existing one.
        """
        # Imported here: most fleets have no database.
        from llm_fleet.accounting.slurm_database import SlurmDatabase

        super().__init__(
            scope,
            "database",
            fleet=fleet,
            env=env,
            description="Slurm accounting database of an LLM fleet",
            outlives=True,
        )
        here = network_for(self, network)
        if here is None:
            raise TypeError("a database requires a network; the rules reject a fleet file without one")
        self.key = key_of(self, "Key", config.encryption_key) or FleetKey(
            self, "Key", description="Encrypts the Slurm accounting of an LLM fleet"
        )
        """Encrypts the database and its secrets."""
        self.database = SlurmDatabase(
            self,
            "Database",
            config.model_copy(update={"encryption_key": self.key}),
            network=here,
        )
        """The database, for the clusters that use it."""
        cdk.CfnOutput(
            self,
            "DatabaseEndpoint",
            value=self.database.endpoint,
            description="Host name of Slurm's accounting database",
        )
        cdk.CfnOutput(
            self,
            "CredentialsSecret",
            value=self.database.credentials_secret.secret_arn,
            description="ARN of the secret with its user name and password",
        )

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        database = self.database
        self.offer(self.key.key_arn, database.endpoint, database.resource.ref)
        self.offer(database.credentials_secret.secret_arn, database.password_secret.secret_arn)
        self.offer(database.security_group.security_group_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A fleet with what has been made of it before."""

    fleet: Fleet
    env: cdk.Environment
    """Account and region of all stacks."""
    network: Network | NetworkConfig | None
    """One that another stack has made, the description of an existing one, or none."""
    storage: StorageStack
    """Has the fleet's own buckets, file systems and key."""
    database: "SlurmDatabase | None"
    """The fleet's own for Slurm's accounting; `None` without one."""
    clusters: "dict[str, HyperPodCluster | ParallelCluster]" = field(default_factory=dict)  # pyright: ignore
    """Those of the fleet that are made already, by their keys in the fleet file."""

    def network_in(self, stack: Construct) -> Network | None:
        """Return the network for use in `stack`; see `network_for`."""
        return network_for(stack, self.network)

    def reached(self, names: Sequence[str]) -> "list[ReachableCluster]":
        """Return the clusters of those `names`, keys of the fleet file, in their order."""
        return [self.clusters[name] for name in names]

    def buckets_in(self, stack: Construct, names: Iterable[str]) -> list[s3.IBucket]:
        """Return the buckets of `names`: a key of the fleet's own, or `s3://` and the name of an existing one."""
        own = self.storage.buckets
        return [own[name] if name in own else cast("s3.IBucket", bucket_of(stack, name)) for name in names]
