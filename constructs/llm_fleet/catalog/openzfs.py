"""What FSx for OpenZFS sells in a single Availability Zone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Steps, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenZfsLimits:
    """Types, sizes and options of OpenZFS file systems on SSD."""

    throughputs: Mapping[str, Steps]
    """MB/s that each deployment type is sold with. Steps of the HA types are inferred, see the data file."""
    storage_capacity_gib: tuple[int, int]
    """Smallest and largest; any whole number between."""
    iops_per_gib: int
    """Disk IOPS that come with each GiB; more may be provisioned."""
    compressions: tuple[str, ...]
    record_sizes_kib: tuple[int, ...]
    backup_retention_days: int
    ports: tuple[tuple[int, int], ...]
    """Port ranges, TCP and UDP, that NFS clients use."""
    root_export_path: str
    """The path under which clients mount the root volume."""
    volume_name: str
    """A pattern of the names of other volumes: the characters of the API's `VolumePath`, without the slash."""
    volume_name_length: int


@cache
def open_zfs_limits() -> OpenZfsLimits:
    """Return what the service sells."""
    facts: dict[str, Any] = {name: frozen(value) for name, value in load("openzfs").items()}
    steps = {name: Steps(single=frozen(ladder["single"])) for name, ladder in facts.pop("deployment_types").items()}
    return OpenZfsLimits(throughputs=steps, **facts)
