"""EBS volumes, of nodes and shared, and EFS file systems."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.parallelcluster import image_size_gib
from llm_fleet.catalog.parallelcluster_schema import (
    DEFAULT_EBS_SIZE_GIB,
    DEFAULT_EBS_THROUGHPUT,
    DEFAULT_EBS_TYPE,
    EbsVolumeType,
    ebs_volume_type,
    ebs_volume_types,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.shared_storage import read_settings
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import StorageKind
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number, did_you_mean
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import RootVolume
from llm_fleet.spec.parallelcluster_storage import SharedStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Volume:
    """What is asked for, and how each part is called where it stands."""

    code: Code
    size: int | None
    iops: int | None
    throughput: int | None
    size_path: tuple[str, ...]
    iops_path: tuple[str, ...]
    throughput_path: tuple[str, ...]


def check_shared_ebs(storage: SharedStorage) -> list[Problem]:
    """Check a shared EBS volume that ParallelCluster is to make; the type itself is judged by the schema."""
    if storage.kind != StorageKind.EBS or storage.existing_id is not None or is_unresolved(storage.section):
        return []
    settings = read_settings(storage)
    name = settings.get("VolumeType", DEFAULT_EBS_TYPE)
    kind = None if is_unresolved(name) else ebs_volume_type(name)
    problems = _check_key(settings)
    if kind is None:
        return problems
    volume = _Volume(
        code=Code.PC_EBS,
        size=settings.get("Size", DEFAULT_EBS_SIZE_GIB),
        iops=settings.get("Iops"),
        throughput=settings.get("Throughput"),
        size_path=("settings", "Size"),
        iops_path=("settings", "Iops"),
        throughput_path=("settings", "Throughput"),
    )
    return [*problems, *_check_volume(volume, kind)]


def check_root_volume(root: RootVolume) -> list[Problem]:
    """Check a root volume. Stricter for queues, whose volume type the schema takes as any text."""
    name = root.volume_type or DEFAULT_EBS_TYPE
    if is_unresolved(name):
        return []
    kind = ebs_volume_type(name)
    if kind is None:
        return [
            Problem(
                code=Code.PC_ROOT_VOLUME,
                message="EBS has no volume type of this name",
                remedy=did_you_mean(name, ebs_volume_types(), otherwise=f"write {DEFAULT_EBS_TYPE!r}"),
                path=("volume_type",),
                value=name,
                allowed=", ".join(ebs_volume_types()),
            )
        ]
    volume = _Volume(
        code=Code.PC_ROOT_VOLUME,
        size=root.size_gib,
        iops=root.iops,
        throughput=root.throughput_mib_s,
        size_path=("size_gib",),
        iops_path=("iops",),
        throughput_path=("throughput_mib_s",),
    )
    return _check_volume(volume, kind)


def check_root_sizes(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that root volumes hold ParallelCluster's own image.

    (RootVolumeSizeValidator, which asks EC2 for the image's size; here it is that of the release notes.)
    """
    least = None if is_unresolved(cluster.version) else image_size_gib(cluster.version)
    if least is None or cluster.image_id is not None:
        return []
    head = cluster.head_node
    nodes = [(head.root_volume, head.image_id, ("head_node",))]
    nodes += [(queue.root_volume, queue.image_id, ("queues", queue.name)) for queue in cluster.queues]
    return [
        Problem(
            code=Code.PC_ROOT_VOLUME,
            message=f"ParallelCluster's image takes {least} GiB, and the root volume has {root.size_gib}",
            remedy=f"write {least} or more, or leave it out to have the image's size",
            path=(*path, "root_volume", "size_gib"),
            value=root.size_gib,
            allowed=f"{least} GiB or more",
        )
        for root, image_id, path in nodes
        if root is not None and image_id is None and root.size_gib is not None and not is_unresolved(root.size_gib)
        if root.size_gib < least
    ]


def _check_volume(volume: _Volume, kind: EbsVolumeType) -> list[Problem]:
    return [
        *check_number(volume.size, kind.size, volume.code, *volume.size_path, what=f"the size of {kind.name}"),
        *_check_iops(volume, kind),
        *_check_throughput(volume, kind),
    ]


def _check_iops(volume: _Volume, kind: EbsVolumeType) -> list[Problem]:
    """EbsVolumeIopsValidator. A volume as large as the image is not judged by its size, which EC2 knows."""
    iops = volume.iops
    if iops is not None and kind.iops is None:
        return [
            _ebs_problem(
                volume, volume.iops_path, iops, f"{kind.name} takes no IOPS", "leave it out, or take gp3 or io2"
            )
        ]
    if kind.iops is None:
        return []
    problems = check_number(iops, kind.iops, volume.code, *volume.iops_path, what=f"the IOPS of {kind.name}")
    asked = iops if iops is not None else kind.default_iops
    if problems or asked is None or volume.size is None or is_unresolved((asked, volume.size)):
        return problems
    most = volume.size * (kind.iops_per_gib or asked)
    if asked <= most:
        return []
    return [
        _ebs_problem(
            volume,
            volume.iops_path if iops is not None else volume.size_path,
            asked if iops is not None else volume.size,
            f"{volume.size} GiB of {kind.name} have {most} IOPS at most, and {asked} are asked for",
            f"take {-(-asked // (kind.iops_per_gib or 1))} GiB or more, or fewer IOPS",
        )
    ]


def _check_throughput(volume: _Volume, kind: EbsVolumeType) -> list[Problem]:
    """EbsVolumeThroughputValidator, EbsVolumeThroughputIopsValidator; stricter where the type takes none."""
    asked = volume.throughput
    if asked is None:
        return []
    if kind.throughput is None:
        return [
            _ebs_problem(
                volume, volume.throughput_path, asked, f"{kind.name} takes no throughput", "leave it out, or take gp3"
            )
        ]
    problems = check_number(
        asked, kind.throughput, volume.code, *volume.throughput_path, what=f"the throughput of {kind.name}"
    )
    iops = volume.iops if volume.iops is not None else kind.default_iops
    if problems or iops is None or is_unresolved((asked, iops)) or asked <= iops * (kind.throughput_per_iops or asked):
        return problems
    return [
        _ebs_problem(
            volume,
            volume.throughput_path,
            asked,
            f"{iops} IOPS carry {int(iops * (kind.throughput_per_iops or 1))} MiB/s at most",
            f"ask for {int(asked / (kind.throughput_per_iops or 1))} IOPS, or for {DEFAULT_EBS_THROUGHPUT} MiB/s",
        )
    ]


def _check_key(settings: Mapping[str, Any]) -> list[Problem]:
    """KmsKeyIdEncryptedValidator: volumes are encrypted unless someone says no."""
    if settings.get("KmsKeyId") is None or settings.get("Encrypted", True) is not False:
        return []
    return [
        Problem(
            code=Code.PC_EBS,
            message="the volume has a key and is not to be encrypted",
            remedy="leave Encrypted out, or leave KmsKeyId out",
            path=("settings", "Encrypted"),
            value=False,
        )
    ]


def _ebs_problem(volume: _Volume, path: tuple[str, ...], value: int, message: str, remedy: str) -> Problem:
    return Problem(code=volume.code, message=message, remedy=remedy, path=path, value=value)


def check_efs(storage: SharedStorage) -> list[Problem]:
    """Check an EFS's options (EfsMountOptionsValidator, EfsAccessPointOptionsValidator, KmsKeyIdEncryptedValidator)."""
    if storage.kind != StorageKind.EFS or is_unresolved(storage.section):
        return []
    settings = read_settings(storage)
    return [
        *_check_mount(settings, exists=storage.existing_id is not None),
        *(_check_new(settings) if storage.existing_id is None else []),
    ]


def _check_mount(settings: Mapping[str, Any], *, exists: bool) -> list[Problem]:
    in_transit = settings.get("EncryptionInTransit")
    problems: list[Problem] = []
    if settings.get("IamAuthorization") is True and in_transit in (None, False):
        problems.append(
            _efs_problem(
                "IamAuthorization",
                True,
                "EFS asks who mounts it only over an encrypted connection",
                "write EncryptionInTransit: true",
            )
        )
    point = settings.get("AccessPointId")
    if point is not None and in_transit in (None, False):
        problems.append(
            _efs_problem(
                "AccessPointId",
                point,
                "an access point is mounted only over an encrypted connection",
                "write EncryptionInTransit: true",
            )
        )
    if point is not None and not exists:
        problems.append(
            _efs_problem("AccessPointId", point, "an access point is of an EFS that exists", "give the id of its EFS")
        )
    return problems


def _check_new(settings: Mapping[str, Any]) -> list[Problem]:
    """ParallelCluster's EFS, unlike its EBS volumes, is not encrypted unless told."""
    key = settings.get("KmsKeyId")
    if key is None or settings.get("Encrypted") not in (None, False):
        return []
    return [_efs_problem("KmsKeyId", key, "there is a key, and the EFS is not to be encrypted", "add Encrypted: true")]


def _efs_problem(key: str, value: object, message: str, remedy: str) -> Problem:
    return Problem(code=Code.PC_EFS, message=message, remedy=remedy, path=("settings", key), value=value)
