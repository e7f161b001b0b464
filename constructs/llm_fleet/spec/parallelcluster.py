"""An AWS ParallelCluster and its shared storage."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, WithJsonSchema

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, Os
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.rules.terms import ImmutableChanges, QueueUpdateStrategy, ScalingStrategy, StorageKind
from llm_fleet.spec.cluster import ClusterSpec, NodeScripts
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet.spec.references import Policy
from llm_fleet.spec.slurm_database import Accounting
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import IDLE_TIME, AnyText, Days, InFile, Named, Several


class _Volume(Protocol):
    @property
    def volume_id(self) -> str | None: ...


class SharedStorage(Spec):
    """A file system that all nodes mount (`SharedStorage[]`), in addition to the fleet's `fsx` and `home`.

    `lustre`, `open_zfs`, `ontap`, `efs`, `ebs` and `file_cache` mount an existing one, which is kept when the cluster
    is deleted and can be mounted and unmounted while jobs run. `managed_…` ones are created by ParallelCluster: few of
    their settings can be changed, and updates of them stop nodes.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "MountDir": "write `mount`",
        "StorageType": "write `type`",
        "Name": "write the name as the key, in front of its colon",
        **dict.fromkeys(("FileSystemId", "VolumeId", "FileCacheId"), "write `id`"),
        **{f"{kind.value}Settings": "write `settings`" for kind in StorageKind},
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """1 to 30 characters. It cannot be changed later."""
    kind: Annotated[StorageKind, Field(alias="type", examples=["Ebs"])]
    """Storage type. `Ebs` is a volume that the head node exports over NFS; the others are services of their own."""
    mount_dir: Annotated[str, Field(alias="mount", examples=["/apps"])]
    """Path where nodes mount it. It must not be above or below another mount. A file system at /home cannot be changed
    later."""
    existing_id: Annotated[str | None, Field(alias="id")] = None
    """Id of an existing file system, volume or cache. Default: ParallelCluster creates one."""
    settings: Mapping[str, Any] = {}
    """Settings of the new file system, with ParallelCluster's keys of this type, e.g. `{Size: 200}`.

    Default: ParallelCluster's own defaults, but encrypted, and retained when the cluster is deleted."""

    @property
    def section(self) -> Mapping[str, Any]:
        """Its section in ParallelCluster's configuration, e.g. `EbsSettings`, without the id.

        File systems that ParallelCluster creates are encrypted and retained unless `settings` override this.
        """
        if self.existing_id is not None or is_unresolved(self.settings):
            return self.settings
        return {**_KEPT.get(self.kind, {}), **self.settings}

    @classmethod
    def lustre(cls, name: str, *, mount_dir: str = "/fsx", file_system_id: str) -> "SharedStorage":
        """Return an existing FSx for Lustre file system, e.g. `LustreFileSystem.file_system_id`."""
        return cls(name=name, kind=StorageKind.FSX_LUSTRE, mount_dir=mount_dir, existing_id=file_system_id)

    @classmethod
    def open_zfs(
        cls, name: str, *, mount_dir: str = "/home", volume_id: str | None = None, volume: _Volume | None = None
    ) -> "SharedStorage":
        """Return an existing volume of FSx for OpenZFS, by its id (`fsvol-…`) or by the construct that has its id.

        E.g. `OpenZfsFileSystem.add_volume(…)`; CloudFormation then deletes the cluster before the volume.
        """
        of_construct = None if volume is None else volume.volume_id
        given = [known for known in (volume_id, of_construct) if known is not None]
        raise_problems(_one_volume(len(given)), subject=f"SharedStorage {name}")
        return cls(name=name, kind=StorageKind.FSX_OPEN_ZFS, mount_dir=mount_dir, existing_id=given[0])

    @classmethod
    def ontap(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return an existing volume (`fsvol-…`) of FSx for NetApp ONTAP."""
        return cls(name=name, kind=StorageKind.FSX_ONTAP, mount_dir=mount_dir, existing_id=volume_id)

    @classmethod
    def file_cache(cls, name: str, *, mount_dir: str, file_cache_id: str) -> "SharedStorage":
        """Return an existing Amazon File Cache (`fc-…`). It cannot be mounted at /home."""
        return cls(name=name, kind=StorageKind.FILE_CACHE, mount_dir=mount_dir, existing_id=file_cache_id)

    @classmethod
    def efs(
        cls,
        name: str,
        *,
        mount_dir: str,
        file_system_id: str,
        access_point_id: str | None = None,
        encryption_in_transit: bool = True,
        iam_authorization: bool = False,
    ) -> "SharedStorage":
        """Return an existing EFS file system.

        It is encrypted in transit by default, unlike ParallelCluster's own default. An access point and
        `iam_authorization` require encryption in transit.
        """
        settings: dict[str, Any] = {"EncryptionInTransit": encryption_in_transit, "IamAuthorization": iam_authorization}
        if access_point_id is not None:
            settings["AccessPointId"] = access_point_id
        return cls(name=name, kind=StorageKind.EFS, mount_dir=mount_dir, existing_id=file_system_id, settings=settings)

    @classmethod
    def ebs(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return an existing EBS volume, which the head node exports over NFS."""
        return cls(name=name, kind=StorageKind.EBS, mount_dir=mount_dir, existing_id=volume_id)

    @classmethod
    def managed_lustre(
        cls,
        name: str,
        *,
        mount_dir: str = "/fsx",
        capacity_gib: int,
        throughput_mb_s_per_tib: int | None = 250,
        deployment_type: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = "PERSISTENT_2",
        compression: bool = True,
        retain: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> "SharedStorage":
        """Return an FSx for Lustre file system that ParallelCluster creates: 1200 GiB or a multiple of 2400.

        Prefer `LustreFileSystem` with `lustre`: it can grow, and has EFA and metadata IOPS. Default: PERSISTENT_2 with
        250 MB/s for each TiB; a scratch type has no throughput (`None`). `compression` is LZ4, which according to AWS's
        documents does not slow the file system down. It is retained with its data when the cluster is deleted, unless
        `retain` is false. `settings` are additional keys of `FsxLustreSettings`.
        """
        chosen: dict[str, Any] = {
            "StorageCapacity": capacity_gib,
            "DeploymentType": deployment_type,
            "DeletionPolicy": _deletion_policy(retain),
        }
        if compression:
            chosen["DataCompressionType"] = "LZ4"
        if throughput_mb_s_per_tib is not None:
            chosen["PerUnitStorageThroughput"] = throughput_mb_s_per_tib
        return cls(
            name=name, kind=StorageKind.FSX_LUSTRE, mount_dir=mount_dir, settings=_joined(name, chosen, settings)
        )

    @classmethod
    def managed_efs(
        cls, name: str, *, mount_dir: str, retain: bool = True, settings: Mapping[str, Any] | None = None
    ) -> "SharedStorage":
        """Return an EFS file system that ParallelCluster creates, encrypted at rest and in transit.

        It is retained when the cluster is deleted, unless `retain` is false. `settings` are additional keys of
        `EfsSettings`.
        """
        chosen = {"DeletionPolicy": _deletion_policy(retain)}
        return cls(name=name, kind=StorageKind.EFS, mount_dir=mount_dir, settings=_joined(name, chosen, settings))

    @classmethod
    def managed_ebs(
        cls,
        name: str,
        *,
        mount_dir: str,
        size_gib: int,
        volume_type: str = "gp3",
        retain: bool = True,
        settings: Mapping[str, Any] | None = None,
    ) -> "SharedStorage":
        """Return an encrypted EBS volume that ParallelCluster creates and the head node exports over NFS.

        For /apps, not for training data: all nodes share the head node's network bandwidth. It is retained when the
        cluster is deleted, unless `retain` is false. `settings` are additional keys of `EbsSettings`.
        """
        chosen: dict[str, Any] = {
            "VolumeType": volume_type,
            "Size": size_gib,
            "DeletionPolicy": _deletion_policy(retain),
        }
        return cls(name=name, kind=StorageKind.EBS, mount_dir=mount_dir, settings=_joined(name, chosen, settings))


_KEPT: Mapping[StorageKind, Mapping[str, Any]] = {
    StorageKind.EBS: {"Encrypted": True, "DeletionPolicy": "Retain"},
    StorageKind.EFS: {"Encrypted": True, "EncryptionInTransit": True, "DeletionPolicy": "Retain"},
    StorageKind.FSX_LUSTRE: {"DeletionPolicy": "Retain"},
}
"""Defaults of the settings, by the types that ParallelCluster can create; FSx always encrypts."""

STORAGE_ARGUMENTS: Mapping[str, str] = {
    "StorageCapacity": "capacity_gib",
    "PerUnitStorageThroughput": "throughput_mb_s_per_tib",
    "DeploymentType": "deployment_type",
    "DataCompressionType": "compression",
    "Size": "size_gib",
    "VolumeType": "volume_type",
    "DeletionPolicy": "retain",
}
"""Keys of ParallelCluster, and the arguments of `SharedStorage.managed_…` that set them.

EBS has a third `DeletionPolicy`, `Snapshot`: to use it, create a `SharedStorage` with all its settings.
"""


def _one_volume(given: int) -> list[Problem]:
    if given == 1:
        return []
    return [
        Problem(
            code=Code.PC_OPEN_ZFS_VOLUME,
            path=("volume_id",),
            message="set only one of `volume_id` and `volume`" if given else "`volume_id` or `volume` is required",
            remedy="give either `volume_id`, or `volume`, a construct that has the id",
        )
    ]


def _joined(name: str, chosen: Mapping[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `chosen` with `settings`. A setting that has its own argument is an error, since it would have no
    effect."""
    problems = [
        Problem(
            code=Code.PC_OVERRIDE_TYPED,
            message=f"`{key}` is set by an argument of its own",
            remedy=f"use {STORAGE_ARGUMENTS[key]}",
            path=("settings", key),
            value=value,
        )
        for key, value in (settings or {}).items()
        if key in STORAGE_ARGUMENTS
    ]
    raise_problems(problems, subject=f"SharedStorage {name}")
    return {**chosen, **(settings or {})}


def _deletion_policy(retain: bool) -> str:
    return "Retain" if retain else "Delete"


_NEVER = "never"
_NEVER_MINUTES = -1


def _read_idle_time(written: Any) -> int:
    return _NEVER_MINUTES if written == _NEVER else IDLE_TIME.parse(written)


_IdleMinutes = Annotated[
    int,
    InFile(Any, _read_idle_time),
    WithJsonSchema({"anyOf": [IDLE_TIME.json_schema(), {"const": _NEVER}]}),
]
"""Minutes, written as `10 min` or `1 h` in a fleet file; `never` is -1."""


class SlurmSettings(Spec):
    """Settings of Slurm (`SlurmSettings`), and of starting and stopping nodes."""

    other_words: ClassVar[Mapping[str, str]] = {
        "ScaledownIdletime": "write `scaledown`, with its unit",
        "QueueUpdateStrategy": "write `queue_update`",
        "EnableMemoryBasedScheduling": "write `memory_based`",
        "CustomSlurmSettings": "write `settings`",
        "CustomSlurmSettingsIncludeFile": "write `settings_file`",
        "Database": "write `accounting` of the cluster",
        "ExternalSlurmdbd": "write `accounting` of the cluster",
    }

    scaledown_idletime_minutes: Annotated[_IdleMinutes | None, Field(alias="scaledown")] = None
    """Idle time after which a node is stopped, e.g. `10 min`, or `never`, which is -1 in Python. Default: 10
    minutes."""
    scaling_strategy: Annotated[ScalingStrategy, Field(alias="scaling")] = ScalingStrategy.ALL_OR_NOTHING
    """What happens to a job if not all of its nodes can be started. Default: `all-or-nothing`, so that no partial set
    of nodes is paid for."""
    queue_update_strategy: Annotated[QueueUpdateStrategy, Field(alias="queue_update")] = QueueUpdateStrategy.DRAIN
    """What an update does with nodes that must be replaced. Default: `DRAIN`, so that no job is killed.

    ParallelCluster's own default rejects the update until someone stops the compute fleet."""
    memory_based_scheduling: Annotated[bool, Field(alias="memory_based")] = False
    """Whether Slurm schedules memory as it does CPUs, and limits jobs to their share. Default: no."""
    custom_settings: Annotated[Several[Mapping[str, Any]], Field(alias="settings")] = ()
    """Additional settings of slurm.conf, as a list of mappings. Default: none."""
    custom_settings_file: Annotated[str | None, Field(alias="settings_file")] = None
    """File with additional settings of slurm.conf, `s3://…`, instead of `settings`. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Settings of ParallelCluster that have no key here, in ParallelCluster's own spelling. Default: none."""


class ParallelClusterSpec(ClusterSpec):
    """An AWS ParallelCluster with Slurm."""

    head_node: Annotated[HeadNode, Field(alias="head", examples=[{"type": "c5.4xlarge"}, "{type: c5.4xlarge}"])]
    """The head node, which runs Slurm's controller daemons."""
    queues: Annotated[Named[Queue], Field(examples=[{}, "{trn1: {type: trn1.32xlarge, max: 4}}"])]
    """Slurm queues, by name in a fleet file."""
    login_pools: Annotated[Named[LoginPool], Field(alias="login")] = ()
    """Pools of login nodes, by name in a fleet file. Default: none; users log in to the head node."""
    scheduler: str = "slurm"
    """The scheduler. Default: `slurm`, the only one that ParallelCluster supports."""
    version: Annotated[str, AnyText()] = DEFAULT_VERSION
    """Version of ParallelCluster, in quotes in a fleet file. Only the same version can update the cluster, so a change
    means a new cluster. Default: `"3.16.1"`."""
    os: Annotated[str, AnyText()] = str(Os.ALINUX2023)
    """Operating system of its nodes. Default: `alinux2023`, for which AWS maintains the drivers of EFA, Lustre and
    Neuron."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """Custom AMI, `ami-…`, built for this version of ParallelCluster. Default: ParallelCluster's AMI."""
    shared_storage: Annotated[Named[SharedStorage], Field(alias="storage")] = ()
    """File systems in addition to the fleet's `fsx` and `home`, which all nodes always mount; by name in a fleet file.
    Default: none."""
    slurm: SlurmSettings = SlurmSettings()
    """Settings of Slurm, and of starting and stopping nodes."""
    permissions_boundary: Policy | None = None
    """Managed policy that is the permissions boundary of all roles that ParallelCluster creates; in a fleet file its
    ARN. Default: none."""
    iam_resource_prefix: Annotated[str | None, Field(alias="iam_prefix")] = None
    """Name prefix of those roles, or a path below `/parallelcluster/`. Default: ParallelCluster's own."""
    detailed_monitoring: bool = False
    """Whether CloudWatch has EC2 metrics of the nodes each minute. Default: no; every five minutes."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 180
    """Retention of the nodes' logs, also after the cluster is deleted. Default: `180 days`."""
    immutable_changes: ImmutableChanges = ImmutableChanges.REFUSE
    """What happens on a change that an existing cluster cannot apply: `refuse`, or `new-cluster`. Default: `refuse`.

    A new cluster is created next to the old one, which is deleted when the new one is complete. If `deployed` is not
    known, each such change creates a new cluster."""
    fleet_is_stopped: bool = False
    """Whether you have stopped the compute fleet, which some changes require. Default: no."""
    overrides: Mapping[str, Any] = {}
    """Settings of ParallelCluster that have no key here, in ParallelCluster's own spelling. Default: none."""
    accounting: Accounting | None = None
    """Where Slurm's accounting data is stored, outside the cluster. Default: none."""
    scripts: Annotated[NodeScripts | None, InFile(NodeScripts)] = NodeScripts()
    """Scripts that nodes run after they are configured; in Python `None` for none. Default: llm-fleet's own scripts."""

    @property
    def queue_of(self) -> Mapping[str, Queue]:
        """Its queues by their names."""
        return {queue.name: queue for queue in self.queues}

    @property
    def node_count(self) -> int:
        """Maximum number of nodes."""
        queued = sum(resource.max_count for queue in self.queues for resource in queue.compute_resources)
        return 1 + queued + sum(pool.count for pool in self.login_pools)

    @property
    def efa_with_address(self) -> bool:
        """Whether EFA interfaces have IP addresses, as they had before ParallelCluster 3.15."""
        settings: Any = self.overrides.get("DevSettings")
        return isinstance(settings, Mapping) and "efa" in (settings.get("EfaInterfaceType"),)  # pyright: ignore[reportUnknownMemberType]


class PlacedParallelCluster(ParallelClusterSpec):
    """A cluster with all defaults and with its dependencies: the input of its rules, from the fleet file and from
    Python.

    Its `shared_storage` includes the fleet's file systems. Any value may be a CDK token.
    """

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    cluster_name: str = ""  # pyright: ignore[reportIncompatibleVariableOverride]
    """The name that the user wrote; ParallelCluster's name has a hash at its end (see `name_with_hash`)."""
    region: str
