"""Errors in EBS volumes and EFS that ParallelCluster creates."""

from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import with_storage

KEY = "0123abcd-0000-4000-8000-0123456789ab"
FS = "fs-0123456789abcdef0"


def _ebs(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.EBS, existing_id=existing, settings=settings)


def _efs(existing: str | None = None, **settings: Any) -> PlacedParallelCluster:
    return with_storage(kind=StorageKind.EFS, existing_id=existing, settings=settings)


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
        name="more IOPS than the size supports",
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
        name="more throughput than the IOPS support",
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
        cluster=_efs(IamAuthorization=True, EncryptionInTransit=False),
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
        name="access point of a new EFS",
        cluster=_efs(AccessPointId="fsap-0123456789abcdef0", EncryptionInTransit=True),
        code=Code.PC_EFS,
        validator="EfsAccessPointOptionsValidator",
        said="existing EFS",
    ),
    Defect(
        name="key of an EFS that is not encrypted",
        cluster=_efs(KmsKeyId=KEY, Encrypted=False),
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
DEFECTS = (*EBS, *EFS)
