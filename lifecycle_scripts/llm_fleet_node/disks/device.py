"""The node's disks, from the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llm_fleet_node.host import Host

INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
"""Model name of an instance store disk. Source: EC2 User Guide, "NVMe instance store volumes"."""
_BLOCK = "/sys/block"
_SECTOR = 512


@dataclass(frozen=True)
class Device:
    """A block device that is not a partition: a disk, RAID array or logical volume."""

    name: str
    """Name below `/dev` and `/sys/block`, e.g. `nvme1n1`, `md127`, `dm-0`."""
    number: str
    """Device number as in the mount table, e.g. `259:1`."""
    model: str
    serial: str
    """Serial number; an instance store disk has another one after a stop."""
    size: int
    """Bytes."""
    made_of: tuple[str, ...]
    """Names of the devices below it: RAID members, physical volumes."""
    holders: tuple[str, ...]
    """Names of the devices above it."""
    partitions: tuple[str, ...]
    """Numbers of its partitions."""


def devices(host: Host) -> list[Device]:
    """Return all block devices except partitions, from `/sys/block`; see sysfs(5)."""
    folder = host.path(_BLOCK)
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [_device(path) for path in found if not path.name.startswith(("loop", "ram", "zram"))]


def _device(path: Path) -> Device:
    return Device(
        name=path.name,
        number=_text(path / "dev"),
        model=_text(path / "device/model"),
        serial=_text(path / "device/serial"),
        size=int(_text(path / "size") or 0) * _SECTOR,
        made_of=_names(path / "slaves"),
        holders=_names(path / "holders"),
        partitions=tuple(sorted(_text(part.parent / "dev") for part in path.glob("*/partition"))),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _names(path: Path) -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in path.iterdir())) if path.is_dir() else ()
