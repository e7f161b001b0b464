"""An AWS ParallelCluster and the storage that its nodes share."""

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
    """A file system that all nodes mount (`SharedStorage[]`), beside the fleet's `fsx` and `home`.

    `lustre`, `open_zfs`, `ontap`, `efs`, `ebs` and `file_cache` mount one that exists, which outlives the cluster and
    can be mounted and unmounted while jobs run. `managed_…` ones are ParallelCluster's: their settings can hardly be
    changed, and their updates stop nodes.
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
    """What it is. `Ebs` is a volume that the head node exports; the others are services of their own."""
    mount_dir: Annotated[str, Field(alias="mount", examples=["/apps"])]
    """Where nodes mount it. Neither above nor below another mount; /home can never be changed later."""
    existing_id: Annotated[str | None, Field(alias="id")] = None
    """Id of one that exists: of a file system, a volume or a cache. Default: ParallelCluster makes one."""
    settings: Mapping[str, Any] = {}
    """What it is made like, in ParallelCluster's own keys of this type, e.g. `{Size: 200}`.

    Default: its own defaults; but encrypted, and kept when the cluster goes."""

    @property
    def section(self) -> Mapping[str, Any]:
        """Its section in ParallelCluster's configuration, e.g. `EbsSettings`, without the id.

        What ParallelCluster makes is encrypted and kept unless `settings` say something else.
        """
        if self.existing_id is not None or is_unresolved(self.settings):
            return self.settings
        return {**_KEPT.get(self.kind, {}), **self.settings}

    @classmethod
    def lustre(cls, name: str, *, mount_dir: str = "/fsx", file_system_id: str) -> "SharedStorage":
        """Return an FSx for Lustre that exists, e.g. `LustreFileSystem.file_system_id`."""
        return cls(name=name, kind=StorageKind.FSX_LUSTRE, mount_dir=mount_dir, existing_id=file_system_id)

    @classmethod
    def open_zfs(
        cls, name: str, *, mount_dir: str = "/home", volume_id: str | None = None, volume: _Volume | None = None
    ) -> "SharedStorage":
        """Return a volume of an FSx for OpenZFS that exists: by its id (`fsvol-…`), or the construct that knows it.

        E.g. `OpenZfsFileSystem.add_volume(…)`; CloudFormation then deletes the cluster before the volume.
        """
        of_construct = None if volume is None else volume.volume_id
        given = [known for known in (volume_id, of_construct) if known is not None]
        raise_problems(_one_volume(len(given)), subject=f"SharedStorage {name}")
        return cls(name=name, kind=StorageKind.FSX_OPEN_ZFS, mount_dir=mount_dir, existing_id=given[0])

    @classmethod
    def ontap(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return a volume (`fsvol-…`) of an FSx for NetApp ONTAP that exists."""
        return cls(name=name, kind=StorageKind.FSX_ONTAP, mount_dir=mount_dir, existing_id=volume_id)

    @classmethod
    def file_cache(cls, name: str, *, mount_dir: str, file_cache_id: str) -> "SharedStorage":
        """Return an Amazon File Cache (`fc-…`) that exists. It cannot be /home."""
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
        """Return an EFS that exists.

        It is encrypted in transit by default, which ParallelCluster does not do by itself. An access point and
        `iam_authorization` need that.
        """
        settings: dict[str, Any] = {"EncryptionInTransit": encryption_in_transit, "IamAuthorization": iam_authorization}
        if access_point_id is not None:
            settings["AccessPointId"] = access_point_id
        return cls(name=name, kind=StorageKind.EFS, mount_dir=mount_dir, existing_id=file_system_id, settings=settings)

    @classmethod
    def ebs(cls, name: str, *, mount_dir: str, volume_id: str) -> "SharedStorage":
        """Return an EBS volume that exists, which the head node shares over NFS."""
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
        """Return an FSx for Lustre that ParallelCluster makes: 1200 GiB or a multiple of 2400.

        `LustreFileSystem` with `lustre` is better: it can grow, and has EFA and metadata IOPS. PERSISTENT_2 with 250
        MB/s for each TiB by default; a scratch one has no throughput (`None`). `compression` is LZ4's, which by AWS's
        documents does not slow it down. It is kept with the data when the cluster goes, unless `retain` is off.
        `settings` are further keys of `FsxLustreSettings`.
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
        """Return an EFS that ParallelCluster makes, encrypted at rest and in transit.

        It is kept when the cluster goes, unless `retain` is off. `settings` are further keys of `EfsSettings`.
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
        """Return an encrypted EBS volume that ParallelCluster makes and the head node shares over NFS.

        For /apps, not for training data: all nodes share the head node's network. It is kept when the cluster goes,
        unless `retain` is off. `settings` are further keys of `EbsSettings`.
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
"""By what ParallelCluster can make; FSx encrypts by itself."""

STORAGE_ARGUMENTS: Mapping[str, str] = {
    "StorageCapacity": "capacity_gib",
    "PerUnitStorageThroughput": "throughput_mb_s_per_tib",
    "DeploymentType": "deployment_type",
    "DataCompressionType": "compression",
    "Size": "size_gib",
    "VolumeType": "volume_type",
    "DeletionPolicy": "retain",
}
"""Keys of ParallelCluster and the arguments of `SharedStorage.managed_…` that stand for them.

EBS has a third `DeletionPolicy`, `Snapshot`: it is said by making a `SharedStorage` of all its settings.
"""


def _one_volume(given: int) -> list[Problem]:
    if given == 1:
        return []
    return [
        Problem(
            code=Code.PC_OPEN_ZFS_VOLUME,
            path=("volume_id",),
            message="the volume is told twice, by its id and by a construct" if given else "nobody told which volume",
            remedy="give either volume_id or volume, one that knows its id",
        )
    ]


def _joined(name: str, chosen: Mapping[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return `chosen` with `settings`, which hold nothing that an argument stands for: one would have no effect."""
    problems = [
        Problem(
            code=Code.PC_OVERRIDE_TYPED,
            message=f"{key} has an argument of its own",
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
    """Settings of Slurm (`SlurmSettings`), and of how nodes come and go."""

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
    """How long a node idles before it goes, e.g. `10 min`, or `never`, which is -1 in Python. Default: 10 minutes."""
    scaling_strategy: Annotated[ScalingStrategy, Field(alias="scaling")] = ScalingStrategy.ALL_OR_NOTHING
    """What becomes of a job whose nodes are not all to be had. Default: `all-or-nothing`: none is paid for."""
    queue_update_strategy: Annotated[QueueUpdateStrategy, Field(alias="queue_update")] = QueueUpdateStrategy.DRAIN
    """What an update does to nodes that must be replaced. Default: `DRAIN`, so that no job is killed.

    ParallelCluster's own default refuses the update until someone stops the fleet."""
    memory_based_scheduling: Annotated[bool, Field(alias="memory_based")] = False
    """Whether Slurm hands out memory as it does CPUs, and holds jobs to it. Default: no."""
    custom_settings: Annotated[Several[Mapping[str, Any]], Field(alias="settings")] = ()
    """Further settings, in the words of slurm.conf, as a list of mappings. Default: none."""
    custom_settings_file: Annotated[str | None, Field(alias="settings_file")] = None
    """A file of such settings in their place, `s3://…`. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""


class ParallelClusterSpec(ClusterSpec):
    """An AWS ParallelCluster with Slurm, by itself."""

    head_node: Annotated[HeadNode, Field(alias="head", examples=[{"type": "c5.4xlarge"}, "{type: c5.4xlarge}"])]
    """The head node, which runs Slurm's daemons."""
    queues: Annotated[Named[Queue], Field(examples=[{}, "{trn1: {type: trn1.32xlarge, max: 4}}"])]
    """Its queues; by name in a fleet file."""
    login_pools: Annotated[Named[LoginPool], Field(alias="login")] = ()
    """Its pools of login nodes; by name in a fleet file. Default: none; people log in to the head node."""
    scheduler: str = "slurm"
    """The scheduler. Default: `slurm`, the only one that ParallelCluster has left."""
    version: Annotated[str, AnyText()] = DEFAULT_VERSION
    """The version of ParallelCluster, in quotes in a fleet file. Only that very version can update the cluster, so
    another one is another cluster. Default: `"3.16.1"`."""
    os: Annotated[str, AnyText()] = str(Os.ALINUX2023)
    """The operating system of its nodes. Default: `alinux2023`, which AWS maintains the drivers of EFA, Lustre and
    Neuron for."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """An image of your own, `ami-…`, built for this version of ParallelCluster. Default: ParallelCluster's."""
    shared_storage: Annotated[Named[SharedStorage], Field(alias="storage")] = ()
    """File systems beside the fleet's `fsx` and `home`, which all nodes mount anyhow; by name in a fleet file. Default:
    none."""
    slurm: SlurmSettings = SlurmSettings()
    """Settings of Slurm, and of how nodes come and go."""
    permissions_boundary: Policy | None = None
    """The managed policy that bounds all roles that ParallelCluster makes; in a fleet file its ARN. Default: none."""
    iam_resource_prefix: Annotated[str | None, Field(alias="iam_prefix")] = None
    """What the names of those roles begin with, or a path below `/parallelcluster/`. Default: as ParallelCluster's."""
    detailed_monitoring: bool = False
    """Whether CloudWatch has metrics of the nodes for each minute. Default: no; for each five minutes."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 180
    """How long the nodes' logs are kept, the cluster's end included. Default: `180 days`."""
    immutable_changes: ImmutableChanges = ImmutableChanges.REFUSE
    """What becomes of a change that the cluster cannot take: `refuse`, or `new-cluster`. Default: `refuse`.

    A new cluster comes up beside the old one, which goes once it stands. Where nothing says what is `deployed`, each
    such change makes one."""
    fleet_is_stopped: bool = False
    """Whether you have stopped the compute fleet, so that changes pass which need that. Default: no."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""
    accounting: Accounting | None = None
    """Where Slurm's accounting is kept, outside the cluster. Default: none."""
    scripts: Annotated[NodeScripts | None, InFile(NodeScripts)] = NodeScripts()
    """Which scripts nodes run once they are configured; in Python `None` for none. Default: those that llm-fleet
    ships."""

    @property
    def queue_of(self) -> Mapping[str, Queue]:
        """Its queues by their names."""
        return {queue.name: queue for queue in self.queues}

    @property
    def node_count(self) -> int:
        """How many nodes it has at most."""
        queued = sum(resource.max_count for queue in self.queues for resource in queue.compute_resources)
        return 1 + queued + sum(pool.count for pool in self.login_pools)

    @property
    def efa_with_address(self) -> bool:
        """Whether EFA's interfaces have addresses, as they had before ParallelCluster 3.15."""
        settings: Any = self.overrides.get("DevSettings")
        return isinstance(settings, Mapping) and "efa" in (settings.get("EfaInterfaceType"),)  # pyright: ignore[reportUnknownMemberType]


class PlacedParallelCluster(ParallelClusterSpec):
    """A cluster with every default filled in, and what it stands on: what its rules read, of file and Python alike.

    Its `shared_storage` has the fleet's file systems too. Any value may be a CDK token.
    """

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    cluster_name: str = ""  # pyright: ignore[reportIncompatibleVariableOverride]
    """Its name as the user gave it; ParallelCluster's has a hash behind it (see `name_with_hash`)."""
    region: str
