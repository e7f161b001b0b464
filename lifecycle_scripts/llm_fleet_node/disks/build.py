"""Makes one file system of unused instance store disks. A disk with any data is never changed."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.disks.device import Device
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.marked_block import put_block
from llm_fleet_node.mounts.mounting import FSTAB

LABEL = "llm-fleet"
_ARRAY = f"/dev/md/{LABEL}"
_OWN = "/var/lib/llm-fleet/own-disks"
_OPTIONS = "noatime,nofail,x-systemd.device-timeout=30"
"""`nofail`: after a stop the instance store is empty, and the node must still boot; the step then makes it again."""
_NOTHING_FOUND = 2
"""Exit code of blkid(8) for a device without any signature."""
_LONG = 300.0


def can_build(host: Host, disks: int) -> bool:
    """Return whether this node has the programs to make one file system of this number of disks."""
    return host.which("blkid") is not None and _maker(host) is not None and (disks < 2 or bool(host.which("mdadm")))


def build(host: Host, disks: Sequence[Device], place: str) -> None:
    """Make one file system of `disks` and mount it at `place`, also at each boot.

    It continues after it was killed: disks that were blank once are recorded as its own, whatever they contain later.
    """
    for disk in disks:
        if disk.serial not in _own(host) and _carries(host, _path(disk)):
            fail(Code.DISK_MISSING, f"{_path(disk)} is not mounted but contains data: not changed", final=True)
    host.write(_OWN, "".join(f"{serial}\n" for serial in sorted(_own(host) | {disk.serial for disk in disks})))
    mount(host, _path(disks[0]) if len(disks) == 1 else _array(host, [_path(disk) for disk in disks]), place)


def own_array(host: Host, devices: Sequence[Device]) -> str:
    """Return the path of the array of an earlier run, with or without a file system; empty if there is none."""
    own = {device.name for device in devices if device.serial and device.serial in _own(host)}
    for device in devices:
        if device.name.startswith("md") and device.made_of and own.issuperset(device.made_of):
            return _path(device)
    return ""


def mount(host: Host, device: str, place: str) -> None:
    """Mount `device`; make a new file system if it does not mount: data on the instance store is lost then."""
    host.folder(place)
    put_block(host, FSTAB, "disks", f"LABEL={LABEL} {place} auto {_OPTIONS} 0 0")
    mounts = f"mounted {device} at {place}"
    if _carries(host, device) and host.succeeds("mount", device, place):
        host.changes.append(mounts)
        return
    maker = _maker(host)
    if maker is None:
        fail(Code.DISK_MISSING, f"the node has neither mkfs.xfs nor mkfs.ext4 to make a file system on {device}")
    host.run(*maker, device, timeout=_LONG, changes=f"made a file system on {device}")
    host.run("mount", device, place, changes=mounts)


def _array(host: Host, disks: list[str]) -> str:
    host.run(
        "mdadm",
        "--create",
        _ARRAY,
        f"--name={LABEL}",
        "--level=0",
        "--homehost=any",
        f"--raid-devices={len(disks)}",
        "--run",
        *disks,
        timeout=_LONG,
        changes=f"made the array {_ARRAY} of {', '.join(disks)}",
    )
    return _ARRAY


def _maker(host: Host) -> tuple[str, ...] | None:
    if host.which("mkfs.xfs"):
        return ("mkfs.xfs", "-q", "-f", "-L", LABEL)
    if host.which("mkfs.ext4"):
        return ("mkfs.ext4", "-q", "-F", "-L", LABEL)
    return None


def _own(host: Host) -> frozenset[str]:
    """Return the serial numbers of disks that were blank when the step first used them."""
    return frozenset((host.read(_OWN) or "").split())


def _path(device: Device) -> str:
    return f"/dev/{device.name}"


def _carries(host: Host, device: str) -> bool:
    """Return whether blkid finds a signature on `device`, without its cache."""
    try:
        host.run("blkid", "--probe", device)
    except CommandFailed as error:
        if error.returncode == _NOTHING_FOUND:
            return False
        raise
    return True
