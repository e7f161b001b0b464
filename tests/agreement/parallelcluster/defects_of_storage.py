"""Errors in shared storage of any kind: names, mount directories, numbers, ids."""

from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import Cluster, Head, Partition, Resource, Storage, with_storage

FS = "fs-0123456789abcdef0"
NVME = Partition(resources=(Resource(instance_types=("c5d.4xlarge",)),))


def _lustre(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.FSX_LUSTRE, existing_id=existing, settings=settings)


def _ebs(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.EBS, existing_id=existing, settings=settings)


def _efs(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.EFS, existing_id=existing, settings=settings)


def _many(kind: StorageKind, number: int, *, existing: bool = False, **settings: Any) -> PlacedParallelCluster:
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


def _at(*mount_dirs: str, **attributes: Any) -> PlacedParallelCluster:
    storages = tuple(Storage(name=f"s{index}", mount_dir=place) for index, place in enumerate(mount_dirs))
    return Cluster(shared_storage=storages, **attributes)


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
        name="storage below the mount path of local disks",
        cluster=_at("/scratch/models", queues=(NVME,)),
        alone={"shared_mount_dir_list": ["/scratch/models"], "local_mount_dir_list": ["/scratch"]},
        code=Code.PC_MOUNT_OVERLAP,
        validator="OverlappingMountDirValidator",
        good=_at("/scratch/models"),
    ),
    Defect(
        name="storage above the mount path of the head node's local disks",
        cluster=_at("/data", head_node=Head(instance_type="m5d.2xlarge", scratch_mount_dir="/data/local")),
        alone={"shared_mount_dir_list": ["/data"], "local_mount_dir_list": ["/data/local"]},
        code=Code.PC_MOUNT_OVERLAP,
        validator="OverlappingMountDirValidator",
        good=_at("/data", head_node=Head(instance_type="m5d.2xlarge", scratch_mount_dir="/local")),
    ),
    Defect(
        name="invalid mount path of local disks",
        cluster=Cluster(queues=(Partition(resources=NVME.compute_resources, scratch_mount_dir="/a//b"),)),
        code=Code.PC_MOUNT_DIR,
        validator=SCHEMA,
        good=Cluster(queues=(Partition(resources=NVME.compute_resources, scratch_mount_dir="/local"),)),
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
        name="existing Lustre file system together with a size",
        cluster=_lustre(FS, StorageCapacity=1200),
        code=Code.PC_STORAGE_EXISTING,
        validator=SCHEMA,
        good=_lustre(FS),
    ),
    Defect(
        name="existing EFS together with encryption at rest",
        cluster=_efs(FS, Encrypted=True),
        code=Code.PC_STORAGE_EXISTING,
        validator=SCHEMA,
        good=_efs(FS, EncryptionInTransit=True, IamAuthorization=True),
    ),
    Defect(
        name="invalid id of a Lustre file system",
        cluster=_lustre("fs-01234567"),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
    ),
    Defect(
        name="invalid id of an OpenZFS volume",
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
DEFECTS = (*PLACES, *NUMBERS, *EXISTING)
