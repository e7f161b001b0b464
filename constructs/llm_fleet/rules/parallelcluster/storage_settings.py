"""Options of volumes and file systems that ParallelCluster makes: EBS, of nodes and shared, EFS, FSx for Lustre."""

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
    """What is asked for of a volume of EBS, and where each part of it is written."""

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
    """Check a shared EBS volume that ParallelCluster is to make; the type itself is judged by the schema."""
    if storage.kind != StorageKind.EBS or storage.existing_id is not None or is_unresolved(storage.section):
        return
    settings = _Settings(read_settings(storage))
    # KmsKeyIdEncryptedValidator: volumes are encrypted unless someone says no.
    if settings.get("KmsKeyId") is not None and settings.get("Encrypted", True) is False:
        yield settings.wrong(
            "Encrypted",
            Code.PC_EBS,
            "the volume has a key and is not to be encrypted",
            "leave Encrypted out, or leave KmsKeyId out",
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
    """Check a root volume. Stricter for queues, whose volume type the schema takes as any text."""
    name = root.volume_type or DEFAULT_EBS_TYPE
    if is_unresolved(name):
        return
    kind = ebs_volume_type(name)
    if kind is None:
        yield root.wrong(
            "volume_type",
            Code.PC_ROOT_VOLUME,
            "EBS has no volume type of this name",
            did_you_mean(name, ebs_volume_types(), otherwise=f"write {DEFAULT_EBS_TYPE!r}"),
            allowed=", ".join(ebs_volume_types()),
        )
        return
    size, iops, throughput = root.size_gib, root.iops, root.throughput_mib_s
    yield from _check_volume(
        _Volume(kind=kind, code=Code.PC_ROOT_VOLUME, size=size, iops=iops, throughput=throughput, paths=_OF_ROOT)
    )


@rule
def check_root_sizes(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that root volumes hold ParallelCluster's own image.

    (RootVolumeSizeValidator, which asks EC2 for the image's size; here it is that of the release notes.)
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
                f"ParallelCluster's image takes {least} GiB, and the root volume has {size}",
                f"write {least} or more, or leave it out to have the image's size",
                allowed=f"{least} GiB or more",
            ).under(*path, "root_volume")


def _check_volume(volume: _Volume) -> list[Problem]:
    return [
        *volume.out_of_range("size", volume.kind.size, what="size"),
        *_check_iops(volume, volume.kind),
        *_check_throughput(volume, volume.kind),
    ]


def _check_iops(volume: _Volume, kind: EbsVolumeType) -> Iterator[Problem]:
    """EbsVolumeIopsValidator. A volume as large as the image is not judged by its size, which EC2 knows."""
    if kind.iops is None:
        if volume.iops is not None:
            yield volume.wrong("iops", f"{kind.name} takes no IOPS", "leave it out, or take gp3 or io2")
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
            f"{volume.size} GiB of {kind.name} have {most} IOPS at most, and {requested} are asked for",
            f"take {-(-requested // (kind.iops_per_gib or 1))} GiB or more, or fewer IOPS",
        )


def _check_throughput(volume: _Volume, kind: EbsVolumeType) -> Iterator[Problem]:
    """EbsVolumeThroughputValidator, EbsVolumeThroughputIopsValidator; stricter where the type takes none."""
    requested = volume.throughput
    if requested is None:
        return
    if kind.throughput is None:
        yield volume.wrong("throughput", f"{kind.name} takes no throughput", "leave it out, or take gp3")
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
        f"{iops} IOPS carry {int(iops * (kind.throughput_per_iops or 1))} MiB/s at most",
        f"ask for {int(requested / (kind.throughput_per_iops or 1))} IOPS, or for {DEFAULT_EBS_THROUGHPUT} MiB/s",
    )


@rule
def check_efs(storage: SharedStorage) -> Iterator[Problem]:
    """Check an EFS's options (EfsMountOptionsValidator, EfsAccessPointOptionsValidator, KmsKeyIdEncryptedValidator)."""
    if storage.kind != StorageKind.EFS or is_unresolved(storage.section):
        return
    settings = _Settings(read_settings(storage))
    in_the_clear, encrypt = settings.get("EncryptionInTransit") in (None, False), "write EncryptionInTransit: true"
    if settings.get("IamAuthorization") is True and in_the_clear:
        yield settings.wrong(
            "IamAuthorization",
            Code.PC_EFS,
            "EFS asks who mounts it only over an encrypted connection",
            encrypt,
        )
    has_point = settings.get("AccessPointId") is not None
    if has_point and in_the_clear:
        yield settings.wrong(
            "AccessPointId",
            Code.PC_EFS,
            "an access point is mounted only over an encrypted connection",
            encrypt,
        )
    if has_point and storage.existing_id is None:
        yield settings.wrong(
            "AccessPointId", Code.PC_EFS, "an access point is of an EFS that exists", "give the id of its EFS"
        )
    # ParallelCluster's EFS, unlike its EBS volumes, is not encrypted unless told.
    unencrypted = settings.get("Encrypted") in (None, False)
    if storage.existing_id is None and settings.get("KmsKeyId") is not None and unencrypted:
        yield settings.wrong(
            "KmsKeyId",
            Code.PC_EFS,
            "there is a key, and the EFS is not to be encrypted",
            "add Encrypted: true",
        )


@rule
def check_lustre(storage: SharedStorage) -> Iterator[Problem]:
    """Check a Lustre file system that is to be made; one that exists has no settings."""
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
    if variant is not None:  # Words that do not go together have their own problem.
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
            "only PERSISTENT_1 is sold on HDD",
            "leave StorageType out to have SSD",
        )
    if settings.get("DriveCacheType") is not None and media != "HDD":
        yield settings.wrong("DriveCacheType", Code.PC_FSX_OPTION, "a drive cache is for HDD", "leave it out")
    if settings.get("KmsKeyId") is not None and variant is not None and not variant.own_key:
        yield settings.wrong(
            "KmsKeyId",
            Code.PC_FSX_OPTION,
            f"{deployment} is encrypted by a key of FSx's own",
            "leave the key out, or write DeploymentType: PERSISTENT_2",
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
                    f"{key} is about automatic backups, and there are none",
                    "add AutomaticBackupRetentionDays, or leave it out",
                )
        return
    deployment = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE)
    variant = None if is_unresolved(deployment) else lustre_variant(deployment, "SSD")
    # A restored file system is of its backup's type, which is not known here; ParallelCluster refuses backups of it.
    if settings.get("BackupId") is not None or (variant is not None and not variant.backups):
        yield settings.wrong(
            retention,
            Code.PC_FSX_OPTION,
            "ParallelCluster makes backups only where DeploymentType is PERSISTENT_1 or PERSISTENT_2",
            "leave it out, or write DeploymentType: PERSISTENT_2",
        )
    linked = [key for key in _S3_LINKED if settings.get(key) is not None]
    if linked:
        yield settings.wrong(
            retention,
            Code.PC_FSX_OPTION,
            f"a file system that is linked to S3 ({', '.join(linked)}) has no automatic backups",
            "leave one of them out; data repository associations go with backups",
        )


def _check_links(settings: _Settings) -> Iterator[Problem]:
    """Check links to S3 (FsxS3Validator, FsxDraValidator, S3BucketUriValidator)."""
    given = [key for key in _S3_LINKED if settings.get(key) is not None]
    for key in given if "ImportPath" not in given else ():
        yield _link((key,), settings[key], f"{key} is about an ImportPath, and there is none", "add ImportPath")
    next_to = [key for key in ("ImportPath", "ExportPath") if key in given]
    for key in next_to:
        yield from _check_s3(settings[key], key)
    associations: Sequence[Mapping[str, Any]] = items(settings, "DataRepositoryAssociations")
    path = ("DataRepositoryAssociations",)
    for index, association in enumerate(associations):
        yield from _check_s3(association.get("DataRepositoryPath"), *path, index, "DataRepositoryPath")
    if associations and next_to:
        yield _link(
            path, next_to, "a file system has associations or import and export paths, not both", "keep the first"
        )
    most = parallelcluster_limits().data_repositories
    if len(associations) > most:
        yield _link(path, len(associations), f"{len(associations)} associations are too many", f"keep {most} at most")


def _check_s3(uri: Any, *path: PathPart) -> Iterator[Problem]:
    if isinstance(uri, str) and not is_unresolved(uri) and not uri.startswith("s3://"):
        yield _link(path, uri, "this is no place in S3", "write s3://<bucket>/<prefix>")


def _link(path: tuple[PathPart, ...], value: object, message: str, remedy: str) -> Problem:
    path = ("settings", *path)
    return Problem(code=Code.PC_FSX_DATA_REPOSITORY, message=message, remedy=remedy, path=path, value=value)


def _check_lustre_throughput(settings: _Settings, variant: LustreVariant) -> Iterator[Problem]:
    """FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator."""
    value = settings.get("PerUnitStorageThroughput")
    if is_unresolved(value) or value in variant.throughputs or (value is None and not variant.throughputs):
        return
    if not variant.throughputs:
        message = f"the throughput of {variant.deployment_type} is fixed and cannot be asked for"
        remedy = "leave it out, or write DeploymentType: PERSISTENT_2"
    elif value is None:
        message = f"{variant.deployment_type} is sold by its throughput, and there is none"
        remedy = f"write PerUnitStorageThroughput: {variant.throughputs[len(variant.throughputs) // 2]}"
    else:
        message = f"{variant.deployment_type} on {variant.storage_type} is not sold with {value} MB/s/TiB"
        below = max((each for each in variant.throughputs if each < value), default=None)
        above = min((each for each in variant.throughputs if each > value), default=None)
        remedy = nearest_of(below, above, "MB/s/TiB")
    allowed = f"{words(variant.throughputs)} MB/s/TiB" if variant.throughputs else ""
    yield settings.wrong("PerUnitStorageThroughput", Code.PC_FSX_THROUGHPUT, message, remedy, allowed=allowed)


def _check_capacity(settings: _Settings, variant: LustreVariant) -> Iterator[Problem]:
    """FsxStorageCapacityValidator."""
    value = settings.get("StorageCapacity")
    # A throughput that is not sold has its own problem; sizes are then judged by the first tier.
    tier = variant.tier(settings.get("PerUnitStorageThroughput")) or variant.tiers[0]
    if is_unresolved(value) or (isinstance(value, int) and tier.capacity.accepts(value)):
        return
    at = f" at {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    message = f"{variant.deployment_type}{at} is not sold in {value} GiB"
    remedy = f"write StorageCapacity: {tier.capacity.smallest}"
    if value is None:
        message = "a new Lustre file system needs a capacity, and there is none"
    elif isinstance(value, int):
        remedy = nearest_of(*tier.capacity.nearest(value), "GiB")
    allowed = tier.capacity.describe("GiB")
    yield settings.wrong("StorageCapacity", Code.PC_FSX_CAPACITY, message, remedy, allowed=allowed)
