"""FSx for Lustre that ParallelCluster makes: its options, and what goes with what."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.fsx import LustreVariant, lustre_variant
from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.catalog.parallelcluster_schema import DEFAULT_LUSTRE_TYPE
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import nearest_of, words
from llm_fleet.rules.parallelcluster.schema_sections import items
from llm_fleet.rules.parallelcluster.shared_storage import read_settings
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import StorageKind
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_storage import SharedStorage

_LINK_KEYS = ("ImportedFileChunkSize", "ExportPath", "AutoImportPolicy")
_S3_LINKED = ("ImportPath", *_LINK_KEYS)


def check_persistent(settings: Mapping[str, Any]) -> list[Problem]:
    """Check the disks and the key (FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator)."""
    deployment, media = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE), settings.get("StorageType", "SSD")
    if is_unresolved((deployment, media)):
        return []
    variant = lustre_variant(deployment, media)
    problems: list[Problem] = []
    if variant is None and lustre_variant(deployment, "SSD") is not None and media == "HDD":
        problems.append(
            _option("StorageType", media, "only PERSISTENT_1 is sold on HDD", "leave StorageType out to have SSD")
        )
    if settings.get("DriveCacheType") is not None and media != "HDD":
        problems.append(
            _option("DriveCacheType", settings["DriveCacheType"], "a drive cache is for HDD", "leave it out")
        )
    if settings.get("KmsKeyId") is not None and variant is not None and not variant.own_key:
        problems.append(
            _option(
                "KmsKeyId",
                settings["KmsKeyId"],
                f"{deployment} is encrypted by a key of FSx's own",
                "leave the key out, or write DeploymentType: PERSISTENT_2",
            )
        )
    return problems


def check_backups(settings: Mapping[str, Any]) -> list[Problem]:
    """Check the automatic backups (FsxBackupOptionsValidator)."""
    days = settings.get("AutomaticBackupRetentionDays")
    if is_unresolved(days):
        return []
    if not days:
        return [
            _option(
                key,
                settings[key],
                f"{key} is about automatic backups, and there are none",
                "add AutomaticBackupRetentionDays, or leave it out",
            )
            for key in ("DailyAutomaticBackupStartTime", "CopyTagsToBackups")
            if settings.get(key) is not None
        ]
    deployment = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE)
    variant = None if is_unresolved(deployment) else lustre_variant(deployment, "SSD")
    problems: list[Problem] = []
    # A restored file system is of its backup's type, which is not known here; ParallelCluster refuses backups of it.
    if settings.get("BackupId") is not None or (variant is not None and not variant.backups):
        problems.append(
            _option(
                "AutomaticBackupRetentionDays",
                days,
                "ParallelCluster makes backups only where DeploymentType is PERSISTENT_1 or PERSISTENT_2",
                "leave it out, or write DeploymentType: PERSISTENT_2",
            )
        )
    linked = [key for key in _S3_LINKED if settings.get(key) is not None]
    if linked:
        problems.append(
            _option(
                "AutomaticBackupRetentionDays",
                days,
                f"a file system that is linked to S3 ({', '.join(linked)}) has no automatic backups",
                "leave one of them out; data repository associations go with backups",
            )
        )
    return problems


def check_links(settings: Mapping[str, Any]) -> list[Problem]:
    """Check links to S3 (FsxS3Validator, FsxDraValidator, S3BucketUriValidator)."""
    problems = [
        _link(("settings", key), settings[key], f"{key} is about an ImportPath, and there is none", "add ImportPath")
        for key in _LINK_KEYS
        if settings.get(key) is not None and settings.get("ImportPath") is None
    ]
    problems += [
        problem for key in ("ImportPath", "ExportPath") for problem in _check_s3(settings.get(key), "settings", key)
    ]
    associations = items(settings, "DataRepositoryAssociations")
    for index, association in enumerate(associations):
        place = ("settings", "DataRepositoryAssociations", index, "DataRepositoryPath")
        problems += _check_s3(association.get("DataRepositoryPath"), *place)
    return [*problems, *_check_associations(settings, associations)]


def _check_associations(settings: Mapping[str, Any], associations: Sequence[Mapping[str, Any]]) -> list[Problem]:
    path = ("settings", "DataRepositoryAssociations")
    most = parallelcluster_limits().data_repositories
    problems: list[Problem] = []
    beside = [key for key in ("ImportPath", "ExportPath") if settings.get(key) is not None]
    if associations and beside:
        problems.append(
            _link(path, beside, "a file system has associations or import and export paths, not both", "keep the first")
        )
    if len(associations) > most:
        problems.append(
            _link(path, len(associations), f"{len(associations)} associations are too many", f"keep {most} at most")
        )
    return problems


def _check_s3(uri: Any, *path: PathPart) -> list[Problem]:
    if not isinstance(uri, str) or is_unresolved(uri) or uri.startswith("s3://"):
        return []
    return [_link(path, uri, "this is no place in S3", "write s3://<bucket>/<prefix>")]


def _option(key: str, value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_FSX_OPTION, message=message, remedy=remedy, path=("settings", key), value=value)


def _link(path: tuple[PathPart, ...], value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_FSX_DATA_REPOSITORY, message=message, remedy=remedy, path=path, value=value)


def check_lustre(storage: SharedStorage) -> list[Problem]:
    """Check a Lustre file system that is to be made; one that exists has no settings."""
    if storage.kind != StorageKind.FSX_LUSTRE or storage.existing_id is not None or is_unresolved(storage.section):
        return []
    settings = read_settings(storage)
    problems = [*check_links(settings), *check_backups(settings)]
    if settings.get("BackupId") is not None:
        return problems  # size and throughput are the backup's
    problems += check_persistent(settings)
    variant = _variant(settings)
    if variant is None:
        return problems
    return [*problems, *_check_throughput(settings, variant), *_check_capacity(settings, variant)]


def _variant(settings: Mapping[str, Any]) -> LustreVariant | None:
    """What is sold; `None` where the words do not go together, which has its own problem."""
    deployment, media = settings.get("DeploymentType", DEFAULT_LUSTRE_TYPE), settings.get("StorageType", "SSD")
    return None if is_unresolved((deployment, media)) else lustre_variant(deployment, media)


def _check_throughput(settings: Mapping[str, Any], variant: LustreVariant) -> list[Problem]:
    """FsxPersistentOptionsValidator, FsxStorageTypeOptionsValidator."""
    value = settings.get("PerUnitStorageThroughput")
    if is_unresolved(value) or value in variant.throughputs or (value is None and not variant.throughputs):
        return []
    if not variant.throughputs:
        message, remedy = (
            f"the throughput of {variant.deployment_type} is fixed and cannot be asked for",
            "leave it out, or write DeploymentType: PERSISTENT_2",
        )
    elif value is None:
        message = f"{variant.deployment_type} is sold by its throughput, and there is none"
        remedy = f"write PerUnitStorageThroughput: {variant.throughputs[len(variant.throughputs) // 2]}"
    else:
        message = f"{variant.deployment_type} on {variant.storage_type} is not sold with {value} MB/s/TiB"
        below = max((each for each in variant.throughputs if each < value), default=None)
        above = min((each for each in variant.throughputs if each > value), default=None)
        remedy = nearest_of(below, above, "MB/s/TiB")
    return [
        Problem(
            code=Code.PC_FSX_THROUGHPUT,
            message=message,
            remedy=remedy,
            path=("settings", "PerUnitStorageThroughput"),
            value=value,
            allowed=f"{words(variant.throughputs)} MB/s/TiB" if variant.throughputs else "",
        )
    ]


def _check_capacity(settings: Mapping[str, Any], variant: LustreVariant) -> list[Problem]:
    """FsxStorageCapacityValidator."""
    value = settings.get("StorageCapacity")
    # A throughput that is not sold has its own problem; sizes are then judged by the first tier.
    tier = variant.tier(settings.get("PerUnitStorageThroughput")) or variant.tiers[0]
    if is_unresolved(value) or (isinstance(value, int) and tier.capacity.accepts(value)):
        return []
    at = f" at {tier.throughput} MB/s/TiB" if variant.storage_type == "HDD" else ""
    return [
        Problem(
            code=Code.PC_FSX_CAPACITY,
            message="a new Lustre file system needs a capacity, and there is none"
            if value is None
            else f"{variant.deployment_type}{at} is not sold in {value} GiB",
            remedy=f"write StorageCapacity: {tier.capacity.smallest}"
            if not isinstance(value, int)
            else nearest_of(*tier.capacity.nearest(value), "GiB"),
            path=("settings", "StorageCapacity"),
            value=value,
            allowed=tier.capacity.describe("GiB"),
        )
    ]
