"""Errors in Lustre file systems that ParallelCluster creates."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import with_storage

KEY = "0123abcd-0000-4000-8000-0123456789ab"


def _lustre(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.FSX_LUSTRE, existing_id=existing, settings=settings)


def _persistent(**settings: Any) -> PlacedParallelCluster:
    usual: Mapping[str, Any] = {
        "StorageCapacity": 1200,
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
    }
    return _lustre(**{**usual, **settings})


def _association(number: int, path: str = "s3://bucket/data") -> list[dict[str, str]]:
    return [
        {"Name": f"data-{index}", "DataRepositoryPath": path, "FileSystemPath": f"/data-{index}"}
        for index in range(number)
    ]


DEFECTS = (
    Defect(
        name="Lustre of 5000 GiB",
        cluster=_persistent(StorageCapacity=5000),
        code=Code.PC_FSX_CAPACITY,
        validator="FsxStorageCapacityValidator",
        good=_persistent(StorageCapacity=4800),
    ),
    Defect(
        name="Lustre without a capacity",
        cluster=_lustre(DeploymentType="SCRATCH_2"),
        code=Code.PC_FSX_CAPACITY,
        validator="FsxStorageCapacityValidator",
        said="must be specified",
    ),
    Defect(
        name="SCRATCH_1 of 4800 GiB",
        cluster=_lustre(DeploymentType="SCRATCH_1", StorageCapacity=4800),
        code=Code.PC_FSX_CAPACITY,
        validator="FsxStorageCapacityValidator",
        good=_lustre(DeploymentType="SCRATCH_1", StorageCapacity=3600),
    ),
    Defect(
        name="HDD of 1800 GiB at 12 MB/s/TiB",
        cluster=_persistent(
            DeploymentType="PERSISTENT_1", StorageType="HDD", PerUnitStorageThroughput=12, StorageCapacity=1800
        ),
        code=Code.PC_FSX_CAPACITY,
        validator="FsxStorageCapacityValidator",
        good=_persistent(
            DeploymentType="PERSISTENT_1", StorageType="HDD", PerUnitStorageThroughput=40, StorageCapacity=1800
        ),
    ),
    Defect(
        name="PERSISTENT_2 at 200 MB/s/TiB",
        cluster=_persistent(PerUnitStorageThroughput=200),
        code=Code.PC_FSX_THROUGHPUT,
        validator="FsxStorageTypeOptionsValidator",
        good=_persistent(PerUnitStorageThroughput=1000),
    ),
    Defect(
        name="PERSISTENT_1 without a throughput",
        cluster=_lustre(StorageCapacity=1200, DeploymentType="PERSISTENT_1"),
        code=Code.PC_FSX_THROUGHPUT,
        validator="FsxPersistentOptionsValidator",
        good=_persistent(DeploymentType="PERSISTENT_1", PerUnitStorageThroughput=50),
    ),
    Defect(
        name="SCRATCH_2 with a throughput",
        cluster=_lustre(StorageCapacity=1200, DeploymentType="SCRATCH_2", PerUnitStorageThroughput=200),
        code=Code.PC_FSX_THROUGHPUT,
        validator="FsxPersistentOptionsValidator",
    ),
    Defect(
        name="key of a scratch file system",
        cluster=_lustre(StorageCapacity=1200, KmsKeyId=KEY),
        code=Code.PC_FSX_OPTION,
        validator="FsxPersistentOptionsValidator",
        good=_persistent(KmsKeyId=KEY),
    ),
    Defect(
        name="PERSISTENT_2 on HDD",
        cluster=_persistent(StorageType="HDD", PerUnitStorageThroughput=12, StorageCapacity=6000),
        code=Code.PC_FSX_OPTION,
        validator="FsxStorageTypeOptionsValidator",
    ),
    Defect(
        name="drive cache of SSD",
        cluster=_persistent(DriveCacheType="READ"),
        code=Code.PC_FSX_OPTION,
        validator="FsxStorageTypeOptionsValidator",
        said="Drive cache",
        good=_persistent(
            DeploymentType="PERSISTENT_1",
            StorageType="HDD",
            PerUnitStorageThroughput=12,
            StorageCapacity=6000,
            DriveCacheType="READ",
        ),
    ),
    Defect(
        name="backup time without backups",
        cluster=_persistent(DailyAutomaticBackupStartTime="03:00"),
        code=Code.PC_FSX_OPTION,
        validator="FsxBackupOptionsValidator",
        good=_persistent(DailyAutomaticBackupStartTime="03:00", AutomaticBackupRetentionDays=7, CopyTagsToBackups=True),
    ),
    Defect(
        name="backups of a scratch file system",
        cluster=_lustre(StorageCapacity=1200, AutomaticBackupRetentionDays=7),
        code=Code.PC_FSX_OPTION,
        validator="FsxBackupOptionsValidator",
    ),
    Defect(
        name="backups of a file system that imports",
        cluster=_persistent(
            DeploymentType="PERSISTENT_1",
            PerUnitStorageThroughput=50,
            ImportPath="s3://bucket/data",
            AutomaticBackupRetentionDays=7,
        ),
        code=Code.PC_FSX_OPTION,
        validator="FsxBackupOptionsValidator",
        said="S3-linked",
        good=_persistent(AutomaticBackupRetentionDays=7, DataRepositoryAssociations=_association(1)),
    ),
    Defect(
        name="size of a file system from a backup",
        cluster=_lustre(BackupId="backup-0123456789abcdef0", StorageCapacity=1200),
        code=Code.PC_KEYS_TOGETHER,
        validator=SCHEMA,
        good=_lustre(BackupId="backup-0123456789abcdef0"),
    ),
    Defect(
        name="export without import",
        cluster=_lustre(StorageCapacity=1200, ExportPath="s3://bucket/data"),
        code=Code.PC_FSX_DATA_REPOSITORY,
        validator="FsxS3Validator",
        good=_lustre(StorageCapacity=1200, ImportPath="s3://bucket/data", ExportPath="s3://bucket/data/out"),
    ),
    Defect(
        name="import from no bucket",
        cluster=_lustre(StorageCapacity=1200, ImportPath="https://bucket/data"),
        code=Code.PC_FSX_DATA_REPOSITORY,
        validator="S3BucketUriValidator",
    ),
    Defect(
        name="association with no bucket",
        cluster=_persistent(DataRepositoryAssociations=_association(1, "bucket/data")),
        code=Code.PC_FSX_DATA_REPOSITORY,
        validator="S3BucketUriValidator",
    ),
    Defect(
        name="associations together with an import path",
        cluster=_lustre(
            StorageCapacity=1200, ImportPath="s3://bucket/data", DataRepositoryAssociations=_association(1)
        ),
        code=Code.PC_FSX_DATA_REPOSITORY,
        validator="FsxDraValidator",
    ),
    Defect(
        name="9 associations",
        cluster=_persistent(DataRepositoryAssociations=_association(9)),
        code=Code.PC_FSX_DATA_REPOSITORY,
        validator="FsxDraValidator",
        said="8",
        good=_persistent(DataRepositoryAssociations=_association(8)),
    ),
)
