"""Chooses the disk for a node's large data. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.disks.device import INSTANCE_STORE, Device
from llm_fleet_node.mounts.table import Mounted

DLAMI_NVME = "/opt/dlami/nvme"
"""Mount point of the instance store on Deep Learning AMIs, also HyperPod's."""
SECONDARY_EBS = "/opt/sagemaker"
"""Mount point of a HyperPod group's secondary EBS volume."""
OWN_NVME = "/opt/nvme"
"""Mount point of an instance store that the step sets up."""
ROOT = "/var/lib"
_NETWORK = ("nfs", "nfs4", "lustre")


@dataclass(frozen=True)
class Plan:
    """The decision."""

    place: str
    kind: str
    """`nvme`, `ebs` or `root`."""
    why: str
    """The reason, for the log."""
    build_from: tuple[str, ...] = ()
    """Unused instance store disks to make a file system of at `place`."""
    idle: tuple[str, ...] = ()
    """Instance store disks that are neither mounted nor unused."""


def plan(
    devices: Sequence[Device], mounts: Sequence[Mounted], *, may_build: bool, scratch: Optional[str] = None
) -> Plan:
    """Choose the disk for Docker, containerd, Enroot, caches and scratch.

    The instance store comes first: it is large, fast and free; then a secondary EBS volume; the root volume last,
    because it fills up. `may_build`: whether unused instance store disks can be used. `scratch`: where the platform
    mounts the instance store, if that is known and nothing else is mounted there.
    """
    store = _instance_store(devices)
    reported = next((there for there in reversed(mounts) if there.path == scratch), None)
    if reported is not None and _can_be_store(reported, devices, {device.name for device in store}):
        return Plan(
            reported.path, "nvme", f"the platform mounts the instance store at {reported.path} ({reported.device})"
        )
    found = _mounted_store(devices, mounts, store)
    if found is not None:
        return Plan(found.path, "nvme", f"the instance store is mounted at {found.path} ({found.device})")
    unused = tuple(device.name for device in store if _is_unused(device, mounts))
    idle = tuple(device.name for device in store if device.name not in unused)
    if unused and may_build:
        return Plan(OWN_NVME, "nvme", f"the instance store has unused disks: {', '.join(unused)}", unused, idle)
    idle += unused
    if any(there.path == SECONDARY_EBS for there in mounts):
        return Plan(SECONDARY_EBS, "ebs", f"a secondary volume is mounted at {SECONDARY_EBS}", idle=idle)
    return Plan(ROOT, "root", "the node has only its root volume", idle=idle)


def instance_store(devices: Sequence[Device]) -> tuple[str, ...]:
    """Return the names of the instance store disks."""
    return tuple(device.name for device in _instance_store(devices))


def _can_be_store(there: Mounted, devices: Sequence[Device], store: set[str]) -> bool:
    """Return whether it is on the instance store, or at least neither on the network nor on another known disk."""
    own = [device for device in devices if there.number in (device.number, *device.partitions)]
    return there.kind not in _NETWORK and all(_is_on(device, devices, store) for device in own)


def _instance_store(devices: Sequence[Device]) -> list[Device]:
    return [device for device in devices if device.model == INSTANCE_STORE]


def _mounted_store(devices: Sequence[Device], mounts: Sequence[Mounted], store: list[Device]) -> Optional[Mounted]:
    """Return the mount of the instance store: at the AMI's path, otherwise the largest one."""
    if any(there.path == DLAMI_NVME for there in mounts):
        return next(there for there in reversed(mounts) if there.path == DLAMI_NVME)
    names = {device.name for device in store}
    sizes = {
        number: device.size
        for device in devices
        if _is_on(device, devices, names)
        for number in (device.number, *device.partitions)
    }
    candidates = [there for there in mounts if there.number in sizes and not _is_part_of_another(there)]
    return max(candidates, key=lambda there: (sizes[there.number], -len(there.path)), default=None)


def _is_on(device: Device, devices: Sequence[Device], names: set[str]) -> bool:
    """Return whether `device` is one of `names`, or a RAID array or logical volume that consists only of them."""
    if device.name in names:
        return True
    below = [other for other in devices if other.name in device.made_of]
    return bool(below) and all(_is_on(other, devices, names) for other in below)


def _is_part_of_another(there: Mounted) -> bool:
    """Return whether only a part of a file system is mounted, such as a bind mount of a container's file."""
    return there.path.startswith(("/proc", "/sys", "/run", "/dev", "/etc")) or there.path == "/"


def _is_unused(device: Device, mounts: Sequence[Mounted]) -> bool:
    numbers = {device.number, *device.partitions}
    return not (device.partitions or device.holders or any(there.number in numbers for there in mounts))
