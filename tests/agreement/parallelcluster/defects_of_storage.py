"""Mistakes in shared storage: names, mount directories, numbers, EBS, EFS, Lustre."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.terms import StorageKind
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import Cluster, Head, Partition, Resource, Storage, with_storage

KEY = "0123abcd-0000-4000-8000-0123456789ab"
FS = "fs-0123456789abcdef0"


def _lustre(existing: str | None = None, **settings: Any) -> Cluster:
    return with_storage(kind=StorageKind.FSX_LUSTRE, existing_id=existing, settings=settings)


def _persistent(**settings: Any) -> Cluster:
    usual: Mapping[str, Any] = {
        "StorageCapacity": 1200,
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
    }
    return _lustre(**{**usual, **settings})


def _ebs(existing: str | None = None, **settings: Any) -> Cluster:
    return with_storage(kind=StorageKind.EBS, existing_id=existing, settings=settings)


def _efs(existing: str | None = None, **settings: Any) -> Cluster:
    return with_storage(kind=StorageKind.EFS, existing_id=existing, settings=settings)


def _many(kind: StorageKind, number: int, *, existing: bool = False, **settings: Any) -> Cluster:
    return with_storage(
        *(
            Storage(
                name=f"s{index}",
                kind=kind,
                mount_dir=f"/s{index}",
                existing_id=f"fs-0123456789abcde{index:02}" if existing else None,
                settings=settings,
            )
            for index in range(number)
        )
    )


def _at(*mount_dirs: str, **attributes: Any) -> Cluster:
    storages = tuple(Storage(name=f"s{index}", mount_dir=place) for index, place in enumerate(mount_dirs))
    return Cluster(shared_storage=storages, **attributes)


def _association(number: int, path: str = "s3://bucket/data") -> list[dict[str, str]]:
    return [
        {"Name": f"data-{index}", "DataRepositoryPath": path, "FileSystemPath": f"/data-{index}"}
        for index in range(number)
    ]


NVME = Partition(compute_resources=(Resource(instance_types=("c5d.4xlarge",)),))

PLACES = (
    Defect(
        name="storage name of 31 characters",
        cluster=with_storage(name="s" * 31),
        code=Code.PC_STORAGE_NAME,
        validator="SharedStorageNameValidator",
        said="at most 30",
        good=with_storage(name="s" * 30),
    ),
    Defect(
        name="storage name with a space",
        cluster=with_storage(name="my data"),
        code=Code.PC_STORAGE_NAME,
        validator="SharedStorageNameValidator",
        good=with_storage(name="my_data:1"),
    ),
    Defect(
        name="storage called default",
        cluster=with_storage(name="default"),
        code=Code.PC_STORAGE_NAME,
        validator="SharedStorageNameValidator",
        said="forbidden",
    ),
    Defect(
        name="storage mounted at /opt/slurm",
        cluster=with_storage(mount_dir="/opt/slurm"),
        code=Code.PC_MOUNT_DIR,
        validator="SharedStorageMountDirValidator",
        good=with_storage(mount_dir="/opt/apps"),
    ),
    Defect(
        name="mount directory with two dots",
        cluster=with_storage(mount_dir="/data/../etc"),
        code=Code.PC_MOUNT_DIR,
        validator=SCHEMA,
        good=with_storage(mount_dir="data"),
    ),
    Defect(
        name="mount directory NONE",
        cluster=with_storage(mount_dir="/NONE"),
        code=Code.PC_MOUNT_DIR,
        validator=SCHEMA,
    ),
    Defect(
        name="File Cache as /home",
        cluster=with_storage(kind=StorageKind.FILE_CACHE, existing_id="fc-0123456789abcdef0", mount_dir="/home"),
        code=Code.PC_MOUNT_DIR,
        validator="SharedFileCacheNotHomeValidator",
        good=with_storage(kind=StorageKind.FILE_CACHE, existing_id="fc-0123456789abcdef0", mount_dir="/cache"),
    ),
    Defect(
        name="one mount directory within another",
        cluster=_at("/data", "/data/models"),
        alone={"shared_mount_dir_list": ["/data", "/data/models"], "local_mount_dir_list": []},
        code=Code.PC_MOUNT_OVERLAP,
        validator="OverlappingMountDirValidator",
        good=_at("/data", "/datasets"),
    ),
    Defect(
        name="two storages at one mount directory",
        cluster=_at("/data", "/data"),
        code=Code.PC_MOUNT_OVERLAP,
        validator="DuplicateMountDirValidator",
        good=_at("/data", "/models"),
    ),
    Defect(
        name="storage below the place of local disks",
        cluster=_at("/scratch/models", queues=(NVME,)),
        alone={"shared_mount_dir_list": ["/scratch/models"], "local_mount_dir_list": ["/scratch"]},
        code=Code.PC_MOUNT_OVERLAP,
        validator="OverlappingMountDirValidator",
        good=_at("/scratch/models"),
    ),
    Defect(
        name="storage above the place of the head node's local disks",
        cluster=_at("/data", head_node=Head(instance_type="m5d.2xlarge", scratch_mount_dir="/data/local")),
        alone={"shared_mount_dir_list": ["/data"], "local_mount_dir_list": ["/data/local"]},
        code=Code.PC_MOUNT_OVERLAP,
        validator="OverlappingMountDirValidator",
        good=_at("/data", head_node=Head(instance_type="m5d.2xlarge", scratch_mount_dir="/local")),
    ),
    Defect(
        name="place of local disks that is no path",
        cluster=Cluster(queues=(Partition(compute_resources=NVME.compute_resources, scratch_mount_dir="/a//b"),)),
        code=Code.PC_MOUNT_DIR,
        validator=SCHEMA,
        good=Cluster(queues=(Partition(compute_resources=NVME.compute_resources, scratch_mount_dir="/local"),)),
    ),
)
NUMBERS = (
    Defect(
        name="6 EBS volumes",
        cluster=_many(StorageKind.EBS, 6),
        code=Code.PC_STORAGE_NUMBER,
        validator="NumberOfStorageValidator",
        said="EBS",
        good=_many(StorageKind.EBS, 5),
    ),
    Defect(
        name="2 EFS to be made",
        cluster=_many(StorageKind.EFS, 2),
        code=Code.PC_STORAGE_NUMBER,
        validator="NumberOfStorageValidator",
        said="new EFS",
        good=_many(StorageKind.EFS, 1),
    ),
    Defect(
        name="2 Lustre to be made",
        cluster=_many(StorageKind.FSX_LUSTRE, 2, StorageCapacity=1200),
        code=Code.PC_STORAGE_NUMBER,
        validator="NumberOfStorageValidator",
        said="new FSx",
        good=_many(StorageKind.FSX_LUSTRE, 1, StorageCapacity=1200),
    ),
    Defect(
        name="2 RAID arrays",
        cluster=_many(StorageKind.EBS, 2, Raid={"Type": 0}),
        code=Code.PC_STORAGE_NUMBER,
        validator="NumberOfStorageValidator",
        said="RAID",
        good=_many(StorageKind.EBS, 1, Raid={"Type": 0, "NumberOfVolumes": 5}),
    ),
    Defect(
        name="21 Lustre that exist",
        cluster=_many(StorageKind.FSX_LUSTRE, 21, existing=True),
        code=Code.PC_STORAGE_NUMBER,
        validator="NumberOfStorageValidator",
        said="existing FSx",
        good=_many(StorageKind.FSX_LUSTRE, 20, existing=True),
    ),
    Defect(
        name="one Lustre mounted twice",
        cluster=with_storage(
            Storage(name="a", kind=StorageKind.FSX_LUSTRE, mount_dir="/a", existing_id=FS),
            Storage(name="b", kind=StorageKind.FSX_LUSTRE, mount_dir="/b", existing_id=FS),
        ),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        said="Shared Storage IDs",
    ),
    Defect(
        name="two storages of one name",
        cluster=with_storage(Storage(mount_dir="/a"), Storage(mount_dir="/b")),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        said="Shared Storage",
    ),
)
EXISTING = (
    Defect(
        name="Lustre that exists together with a size",
        cluster=_lustre(FS, StorageCapacity=1200),
        code=Code.PC_STORAGE_EXISTING,
        validator=SCHEMA,
        good=_lustre(FS),
    ),
    Defect(
        name="EFS that exists together with encryption at rest",
        cluster=_efs(FS, Encrypted=True),
        code=Code.PC_STORAGE_EXISTING,
        validator=SCHEMA,
        good=_efs(FS, EncryptionInTransit=True, IamAuthorization=True),
    ),
    Defect(
        name="text that is no id of a Lustre",
        cluster=_lustre("fs-01234567"),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
    ),
    Defect(
        name="text that is no id of an OpenZFS volume",
        cluster=with_storage(kind=StorageKind.FSX_OPEN_ZFS, existing_id="fs-0123456789abcdef0"),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
        good=with_storage(kind=StorageKind.FSX_OPEN_ZFS, existing_id="fsvol-0123456789abcdef0"),
    ),
    Defect(
        name="key that Lustre does not have",
        cluster=_lustre(StorageCapacity=1200, MetadataConfiguration={"Mode": "AUTOMATIC"}),
        code=Code.PC_KEY_UNKNOWN,
        validator=SCHEMA,
    ),
    Defect(
        name="deletion policy that Lustre does not have",
        cluster=_lustre(StorageCapacity=1200, DeletionPolicy="Snapshot"),
        code=Code.PC_KEY_VALUE,
        validator=SCHEMA,
        good=_lustre(StorageCapacity=1200, DeletionPolicy="Retain"),
    ),
    Defect(
        name="RAID of 6 volumes",
        cluster=_ebs(Raid={"Type": 1, "NumberOfVolumes": 6}),
        code=Code.PC_KEY_VALUE,
        validator=SCHEMA,
        good=_ebs(Raid={"Type": 1, "NumberOfVolumes": 2}),
    ),
)
EBS = (
    Defect(
        name="st1 of 499 GiB",
        cluster=_ebs(VolumeType="st1", Size=499),
        code=Code.PC_EBS,
        validator="EbsVolumeTypeSizeValidator",
        good=_ebs(VolumeType="st1", Size=500),
    ),
    Defect(
        name="st1 of ParallelCluster's own size",
        cluster=_ebs(VolumeType="st1"),
        code=Code.PC_EBS,
        validator="EbsVolumeTypeSizeValidator",
    ),
    Defect(
        name="IOPS of gp2",
        cluster=_ebs(VolumeType="gp2", Iops=3000),
        code=Code.PC_EBS,
        validator="EbsVolumeIopsValidator",
        said="not supported",
        good=_ebs(VolumeType="gp2"),
    ),
    Defect(
        name="more IOPS than the size has",
        cluster=_ebs(VolumeType="io1", Size=100, Iops=5001),
        code=Code.PC_EBS,
        validator="EbsVolumeIopsValidator",
        said="ratio",
        good=_ebs(VolumeType="io1", Size=100, Iops=5000),
    ),
    Defect(
        name="gp3 too small for its IOPS",
        cluster=_ebs(Size=5),
        code=Code.PC_EBS,
        validator="EbsVolumeIopsValidator",
        said="ratio",
        good=_ebs(Size=6),
    ),
    Defect(
        name="gp3 of 1001 MiB/s",
        cluster=_ebs(Throughput=1001, Iops=16000),
        code=Code.PC_EBS,
        validator="EbsVolumeThroughputValidator",
        good=_ebs(Throughput=1000, Iops=16000),
    ),
    Defect(
        name="more throughput than the IOPS carry",
        cluster=_ebs(Throughput=1000, Iops=3999),
        code=Code.PC_EBS,
        validator="EbsVolumeThroughputIopsValidator",
        good=_ebs(Throughput=1000, Iops=4000),
    ),
    Defect(
        name="key of a volume that is not encrypted",
        cluster=_ebs(KmsKeyId=KEY, Encrypted=False),
        code=Code.PC_EBS,
        validator="KmsKeyIdEncryptedValidator",
        good=_ebs(KmsKeyId=KEY),
    ),
)
EFS = (
    Defect(
        name="IAM without encryption in transit",
        cluster=_efs(IamAuthorization=True),
        code=Code.PC_EFS,
        validator="EfsMountOptionsValidator",
        good=_efs(IamAuthorization=True, EncryptionInTransit=True),
    ),
    Defect(
        name="access point without encryption in transit",
        cluster=_efs(FS, AccessPointId="fsap-0123456789abcdef0"),
        code=Code.PC_EFS,
        validator="EfsAccessPointOptionsValidator",
        said="encryption in transit",
        good=_efs(FS, AccessPointId="fsap-0123456789abcdef0", EncryptionInTransit=True),
    ),
    Defect(
        name="access point of an EFS to be made",
        cluster=_efs(AccessPointId="fsap-0123456789abcdef0", EncryptionInTransit=True),
        code=Code.PC_EFS,
        validator="EfsAccessPointOptionsValidator",
        said="existing EFS",
    ),
    Defect(
        name="key of an EFS that is not encrypted",
        cluster=_efs(KmsKeyId=KEY),
        code=Code.PC_EFS,
        validator="KmsKeyIdEncryptedValidator",
        good=_efs(KmsKeyId=KEY, Encrypted=True),
    ),
    Defect(
        name="provisioned throughput in bursting mode",
        cluster=_efs(ProvisionedThroughput=100),
        code=Code.PC_KEYS_TOGETHER,
        validator=SCHEMA,
        good=_efs(ProvisionedThroughput=100, ThroughputMode="provisioned"),
    ),
)
LUSTRE = (
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
        name="associations beside an import path",
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
DEFECTS = (*PLACES, *NUMBERS, *EXISTING, *EBS, *EFS, *LUSTRE)
