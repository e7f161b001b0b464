"""What ParallelCluster takes of EBS volumes, and the directories that are its own."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class EbsVolumeType:
    """Bounds of one EBS volume type, as ParallelCluster checks them."""

    name: str
    size: Limit
    """GiB."""
    iops: Limit | None
    """`None` where IOPS cannot be asked for."""
    default_iops: int | None
    iops_per_gib: int | None
    """Most IOPS for each GiB."""
    throughput: Limit | None
    """MiB/s; `None` where it is not checked."""
    throughput_per_iops: float | None
    """Most MiB/s for each IOPS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountDirs:
    """Directories of ParallelCluster's and of the system's."""

    scratch: str
    """Where local disks are mounted unless the configuration says another place."""
    reserved: tuple[str, ...]
    """Where no shared storage may be mounted."""


DEFAULT_EBS_TYPE: str = load("parallelcluster")["ebs"]["default_type"]
DEFAULT_EBS_SIZE_GIB: int = load("parallelcluster")["ebs"]["default_size"]
DEFAULT_EBS_THROUGHPUT: int = load("parallelcluster")["ebs"]["default_throughput"]
"""MiB/s, of gp3."""
DEFAULT_LUSTRE_TYPE: str = load("parallelcluster")["fsx"]["default_deployment_type"]


@cache
def ebs_volume_type(name: str) -> EbsVolumeType | None:
    """Return the bounds of the volume type `name`; `None` where there is no such type."""
    facts = load("parallelcluster")["ebs"]
    size = facts["sizes"].get(name)
    if size is None:
        return None
    return EbsVolumeType(
        name=name,
        size=_bounds(size),
        iops=_bounds_or_none(facts["iops"].get(name)),
        default_iops=facts["default_iops"].get(name),
        iops_per_gib=facts["iops_per_gib"].get(name),
        throughput=_bounds_or_none(facts["throughput"].get(name)),
        throughput_per_iops=facts["throughput_per_iops"].get(name),
    )


def ebs_volume_types() -> tuple[str, ...]:
    """Return the names of the volume types."""
    return tuple(load("parallelcluster")["ebs"]["sizes"])


@cache
def mount_dirs() -> MountDirs:
    """Return the directories that shared storage has to keep out of."""
    facts = load("parallelcluster")["mount_dirs"]
    return MountDirs(scratch=facts["scratch"], reserved=tuple(facts["reserved"]))


def _bounds(facts: dict[str, Any]) -> Limit:
    return Limit(minimum=facts["min"], maximum=facts["max"])


def _bounds_or_none(facts: dict[str, Any] | None) -> Limit | None:
    return None if facts is None else _bounds(facts)
