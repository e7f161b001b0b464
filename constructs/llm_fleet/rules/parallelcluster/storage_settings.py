"""Settings of new volumes and file systems: EBS (root and shared), EFS, FSx for Lustre."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.fsx import LustreVariant, lustre_variant
from llm_fleet.catalog.parallelcluster import (
    DEFAULT_EBS_SIZE_GIB,
    DEFAULT_EBS_THROUGHPUT,
    DEFAULT_EBS_TYPE,
    DEFAULT_LUSTRE_TYPE,
    EbsVolumeType,
    ebs_volume_type,
    ebs_volume_types,
    image_size_gib,
    parallelcluster_limits,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import nearest_of, words
from llm_fleet.rules.parallelcluster.schema_sections import items
from llm_fleet.rules.parallelcluster.shared_storage import read_settings
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import StorageKind
from llm_fleet.rules.values import check_number, did_you_mean
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage
from llm_fleet.spec.parallelcluster_nodes import RootVolume


class _Settings(dict[str, Any]):
    """The settings of a shared storage, as `read_settings` returns them."""

    def wrong(self, key: str, code: Code, message: str, remedy: str, *, allowed: str = "") -> Problem:
        value, path = self.get(key), ("settings", key)
        return Problem(code=code, message=message, remedy=remedy, path=path, value=value, allowed=allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Volume:
    """The settings of an EBS volume, and the path of each."""

    kind: EbsVolumeType
    code: Code
    size: int | None
    iops: int | None
    throughput: int | None
    paths: Mapping[str, tuple[str, ...]]

    def out_of_range(self, part: str, limit: Limit, *, what: str) -> list[Problem]:
        what = f"the {what} of {self.kind.name}"
        return check_number(getattr(self, part), limit, self.code, *self.paths[part], what=what)

    def wrong(self, part: str, message: str, remedy: str) -> Problem:
        value, path = getattr(self, part), self.paths[part]
        return Problem(code=self.code, message=message, remedy=remedy, path=path, value=value)


_OF_ROOT = {"size": ("size_gib",), "iops": ("iops",), "throughput": ("throughput_mib_s",)}
_OF_SHARED = {"size": ("settings", "Size"), "iops": ("settings", "Iops"), "throughput": ("settings", "Throughput")}


@rule
def check_shared_ebs(storage: SharedStorage) -> Iterator[Problem]:
    """Check a new shared EBS volume; the schema rule checks its type."""
    if storage.kind != StorageKind.EBS or storage.existing_id is not None or is_unresolved(storage.section):
        return
    settings = _Settings(read_settings(storage))
    # KmsKeyIdEncryptedValidator: volumes are encrypted unless Encrypted is false.
    if settings.get("KmsKeyId") is not None and settings.get("Encrypted", True) is False:
        yield settings.wrong(
            "Encrypted",
            Code.PC_EBS,
            "the volume has a KMS key, but Encrypted is false",
            "remove Encrypted, or remove KmsKeyId",
        )
    name = settings.get("VolumeType", DEFAULT_EBS_TYPE)
    kind = None if is_unresolved(name) else ebs_volume_type(name)
    if kind is not None:
        size = settings.get("Size", DEFAULT_EBS_SIZE_GIB)
        iops, throughput = settings.get("Iops"), settings.get("Throughput")
        yield from _check_volume(
            _Volume(kind=kind, code=Code.PC_EBS, size=size, iops=iops, throughput=throughput, paths=_OF_SHARED)
        )


@rule
def check_root_volume(root: RootVolume) -> Iterator[Problem]:
    """Check a root volume. Stricter for queues, where the schema accepts any text as the volume type."""
    name = root.volume_type or DEFAULT_EBS_TYPE
    if is_unresolved(name):
        return
    kind = ebs_volume_type(name)
    if kind is None:
        yield root.wrong(
            "volume_type",
            Code.PC_ROOT_VOLUME,
            "this EBS volume type is unknown",
            did_you_mean(name, ebs_volume_types(), otherwise=f"write `{DEFAULT_EBS_TYPE}`"),
            allowed=", ".join(ebs_volume_types()),
        )
        return
    size, iops, throughput = root.size_gib, root.iops, root.throughput_mib_s
    yield from _check_volume(
        _Volume(kind=kind, code=Code.PC_ROOT_VOLUME, size=size, iops=iops, throughput=throughput, paths=_OF_ROOT)
    )


@rule
def check_root_sizes(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that root volumes are large enough for ParallelCluster's image.

    (RootVolumeSizeValidator, which queries the image's size from EC2; here it is that of the release notes.)
    """
    least = None if is_unresolved(cluster.version) else image_size_gib(cluster.version)
    if least is None or cluster.image_id is not None:
        return
    head = cluster.head_node
    nodes = [(head.root_volume, head.image_id, ("head_node",))]
    nodes += [(queue.root_volume, queue.image_id, ("queues", queue.name)) for queue in cluster.queues]
    for root, image_id, path in nodes:
        size = None if root is None or image_id is not None or is_unresolved(root.size_gib) else root.size_gib
        if root is not None and size is not None and size < least:
            yield root.wrong(
                "size_gib",
                Code.PC_ROOT_VOLUME,
                f"ParallelCluster's image requires {least} GiB, but the root volume has {size}",
                f"write {least} or more, or remove it to use the image's size",
                allowed=f"{least} GiB or more",
            ).under(*path, "root_volume")


def _check_volume(volume: _Volume) -> list[Problem]:
    return [
        *volume.out_of_range("size", volume.kind.size, what="size"),
        *_check_iops(volume, volume.kind),
        *_check_throughput(volume, volume.kind),
    ]


def _check_iops(volume: _Volume, kind: EbsVolumeType) -> Iterator[Problem]:
    """EbsVolumeIopsValidator. The size of a volume without one is that of the image, and is not checked."""
    if kind.iops is None:
        if volume.iops is not None:
            yield volume.wrong("iops", f"{kind.name} does not support setting IOPS", "remove it, or write gp3 or io2")
        return
    problems = volume.out_of_range("iops", kind.iops, what="IOPS")
    yield from problems
    requested = volume.iops if volume.iops is not None else kind.default_iops
    if problems or requested is None or volume.size is None or is_unresolved((requested, volume.size)):
        return
    most = volume.size * (kind.iops_per_gib or requested)
    if requested > most:
        yield volume.wrong(
            "iops" if volume.iops is not None else "size",
            f"{volume.size} GiB of {kind.name} support at most {most} IOPS",
            f"write {-(-requested // (kind.iops_per_gib or 1))} GiB or more, or fewer IOPS",
        )


def _check_throughput(volume: _Volume, kind: EbsVolumeType) -> Iterator[Problem]:
    """EbsVolumeThroughputValidator, EbsVolumeThroughputIopsValidator; stricter when the type does not support it."""
    requested = volume.throughput
    if requested is None:
        return
    if kind.throughput is None:
        yield volume.wrong("throughput", f"{kind.name} does not support setting throughput", "remove it, or write gp3")
        return
    problems = volume.out_of_range("throughput", kind.throughput, what="throughput")
    yield from problems
    iops = volume.iops if volume.iops is not None else kind.default_iops
    if (
        problems
        or iops is None
        or is_unresolved((requested, iops))
        or requested <= iops * (kind.throughput_per_iops or requested)
    ):
        return
    yield volume.wrong(
        "throughput",
        f"{iops} IOPS support at most {int(iops * (kind.throughput_per_iops or 1))} MiB/s",
        f"write {int(requested / (kind.throughput_per_iops or 1))} IOPS, or {DEFAULT_EBS_THROUGHPUT} MiB/s",
    )


@rule
def check_efs(storage: SharedStorage) -> Iterator[Problem]:
    """Check EFS settings (EfsMountOptionsValidator, EfsAccessPointOptionsValidator, KmsKeyIdEncryptedValidator)."""
    if storage.kind != StorageKind.EFS or is_unresolved(storage.section):
        return
    settings = _Settings(read_settings(storage))
    in_the_clear, encrypt = settings.get("EncryptionInTransit") in (None, False), "write EncryptionInTransit: true"
    if settings.get("IamAuthorization") is True and in_the_clear:
        yield settings.wrong(
            "IamAuthorization",
            Code.PC_EFS,
            "IAM authorization of EFS requires encryption in transit",
            encrypt,
        )
    has_point = settings.get("AccessPointId") is not None
    if has_point and in_the_clear:
        yield settings.wrong(
            "AccessPointId",
            Code.PC_EFS,
            "an EFS access point requires encryption in transit",
            encrypt,
        )
    if has_point and storage.existing_id is None:
        yield settings.wrong(
            "AccessPointId", Code.PC_EFS, "an access point requires an existing EFS", "write the ID of its EFS"
        )
    # A new EFS of ParallelCluster, unlike its EBS volumes, is not encrypted by default.
    unencrypted = settings.get("Encrypted") in (None, False)
    if storage.existing_id is None and settings.get("KmsKeyId") is not None and unencrypted:
        yield settings.wrong(
            "KmsKeyId",
            Code.PC_EFS,
            "the EFS has a KMS key, but is not encrypted",
            "add Encrypted: true",
        )


@rule
def check_lustre(storage: SharedStorage) -> Iterator[Problem]:
    """Check a new Lustre file system; an existing one has no settings."""
    if storage.kind != StorageKind.FSX_LUSTRE or storage.existing_id is not None or is_unresolved(storage.section):
        return
    settings = _Settings(read_settings(storage))
    yield from _check_links(settings)
    yield from _check_backups(settings)
    if settings.get("BackupId") is not None:
        return  # size and throughput are the backup's
    deployment, media = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE), settings.get("StorageType", "SSD")
    if is_unresolved((deployment, media)):
        return
    variant = lustre_variant(deployment, media)
    yield from _check_persistent(settings, deployment, media, variant)
    if variant is not None:  # Settings that do not match have their own problem.
        yield from _check_lustre_throughput(settings, variant)
        yield from _check_capacity(settings, variant)


_LINK_KEYS = ("ImportedFileChunkSize", "ExportPath", "AutoImportPolicy")
_S3_LINKED = ("ImportPath", *_LINK_KEYS)


def _check_persistent(
    settings: _Settings, deployment: str, media: str, variant: LustreVariant | None
) -> Iterator[Problem]:
    """Check the disks and the key (FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator)."""
    if variant is None and lustre_variant(deployment, "SSD") is not None and media == "HDD":
        yield settings.wrong(
            "StorageType",
            Code.PC_FSX_OPTION,
            "only PERSISTENT_1 supports HDD",
            "remove StorageType to use SSD",
        )
    if settings.get("DriveCacheType") is not None and media != "HDD":
        yield settings.wrong("DriveCacheType", Code.PC_FSX_OPTION, "a drive cache requires HDD", "remove it")
    if settings.get("KmsKeyId") is not None and variant is not None and not variant.own_key:
        yield settings.wrong(
            "KmsKeyId",
            Code.PC_FSX_OPTION,
            f"{deployment} is always encrypted with an AWS managed key",
            "remove the key, or write DeploymentType: PERSISTENT_2",
        )


def _check_backups(settings: _Settings) -> Iterator[Problem]:
    """Check the automatic backups (FsxBackupOptionsValidator)."""
    retention = "AutomaticBackupRetentionDays"
    days = settings.get(retention)
    if is_unresolved(days):
        return
    if not days:
        for key in ("DailyAutomaticBackupStartTime", "CopyTagsToBackups"):
            if settings.get(key) is not None:
                yield settings.wrong(
                    key,
                    Code.PC_FSX_OPTION,
                    f"{key} requires automatic backups",
                    "add AutomaticBackupRetentionDays, or remove it",
                )
        return
    deployment = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE)
    variant = None if is_unresolved(deployment) else lustre_variant(deployment, "SSD")
    # A restored file system has its backup's type, which is unknown here; ParallelCluster rejects backups of it.
    if settings.get("BackupId") is not None or (variant is not None and not variant.backups):
        yield settings.wrong(
            retention,
            Code.PC_FSX_OPTION,
            "automatic backups require DeploymentType PERSISTENT_1 or PERSISTENT_2",
            "remove it, or write DeploymentType: PERSISTENT_2",
        )
    linked = [key for key in _S3_LINKED if settings.get(key) is not None]
    if linked:
        yield settings.wrong(
            retention,
            Code.PC_FSX_OPTION,
            f"a file system that is linked to S3 ({', '.join(linked)}) does not support automatic backups",
            "remove one of them; data repository associations support backups",
        )


def _check_links(settings: _Settings) -> Iterator[Problem]:
    """Check links to S3 (FsxS3Validator, FsxDraValidator, S3BucketUriValidator)."""
    given = [key for key in _S3_LINKED if settings.get(key) is not None]
    for key in given if "ImportPath" not in given else ():
        yield _link((key,), settings[key], f"{key} requires ImportPath", "add ImportPath")
    next_to = [key for key in ("ImportPath", "ExportPath") if key in given]
    for key in next_to:
        yield from _check_s3(settings[key], key)
    associations: Sequence[Mapping[str, Any]] = items(settings, "DataRepositoryAssociations")
    path = ("DataRepositoryAssociations",)
    for index, association in enumerate(associations):
        yield from _check_s3(association.get("DataRepositoryPath"), *path, index, "DataRepositoryPath")
    if associations and next_to:
        yield _link(
            path,
            next_to,
            "data repository associations and import or export paths exclude each other",
            "keep the associations",
        )
    most = parallelcluster_limits().data_repositories
    if len(associations) > most:
        yield _link(
            path,
            len(associations),
            f"the file system has {len(associations)} associations, {len(associations) - most} too many",
            f"keep at most {most}",
        )


def _check_s3(uri: Any, *path: PathPart) -> Iterator[Problem]:
    if isinstance(uri, str) and not is_unresolved(uri) and not uri.startswith("s3://"):
        yield _link(path, uri, "this is not an S3 URI", "write s3://<bucket>/<prefix>")


def _link(path: tuple[PathPart, ...], value: object, message: str, remedy: str) -> Problem:
    path = ("settings", *path)
    return Problem(code=Code.PC_FSX_DATA_REPOSITORY, message=message, remedy=remedy, path=path, value=value)


def _check_lustre_throughput(settings: _Settings, variant: LustreVariant) -> Iterator[Problem]:
    """FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator."""
    value = settings.get("PerUnitStorageThroughput")
    if is_unresolved(value) or value in variant.throughputs or (value is None and not variant.throughputs):
        return
    if not variant.throughputs:
        message = f"the throughput of {variant.deployment_type} is fixed and cannot be set"
        remedy = "remove it, or write DeploymentType: PERSISTENT_2"
    elif value is None:
        message = f"PerUnitStorageThroughput is required for {variant.deployment_type}"
        remedy = f"write PerUnitStorageThroughput: {variant.throughputs[len(variant.throughputs) // 2]}"
    else:
        message = f"{variant.deployment_type} on {variant.storage_type} does not support {value} MB/s/TiB"
        below = max((each for each in variant.throughputs if each < value), default=None)
        above = min((each for each in variant.throughputs if each > value), default=None)
        remedy = nearest_of(below, above, "MB/s/TiB")
    allowed = f"{words(variant.throughputs)} MB/s/TiB" if variant.throughputs else ""
    yield settings.wrong("PerUnitStorageThroughput", Code.PC_FSX_THROUGHPUT, message, remedy, allowed=allowed)


def _check_capacity(settings: _Settings, variant: LustreVariant) -> Iterator[Problem]:
    """FsxStorageCapacityValidator."""
    value = settings.get("StorageCapacity")
    # An unsupported throughput has its own problem; the size is then checked against the first tier.
    tier = variant.tier(settings.get("PerUnitStorageThroughput")) or variant.tiers[0]
    if is_unresolved(value) or (isinstance(value, int) and tier.capacity.accepts(value)):
        return
    at = f" at {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    message = f"{variant.deployment_type}{at} does not support a capacity of {value} GiB"
    remedy = f"write StorageCapacity: {tier.capacity.smallest}"
    if value is None:
        message = "StorageCapacity is required for a new Lustre file system"
    elif isinstance(value, int):
        remedy = nearest_of(*tier.capacity.nearest(value), "GiB")
    allowed = tier.capacity.describe("GiB")
    yield settings.wrong("StorageCapacity", Code.PC_FSX_CAPACITY, message, remedy, allowed=allowed)
