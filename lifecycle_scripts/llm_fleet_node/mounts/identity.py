"""Checks that the mounted file system is the expected one."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.mounts.table import Mounted, mounted_at
from llm_fleet_node.names import addresses_of

_PLAYED = "/run/llm-fleet-drill/mounts"
"""Written only by the drill's mount programs, on machines whose kernel has neither Lustre nor NFS: they replace the
file system with a folder. No bundle or image can contain it: /run is empty at each boot."""


def is_mounted(host: Host, remote: Remote) -> Mounted:
    """Return the mount at the path of `remote`. Raises `Failure` unless it is `remote`, mounted read-write."""
    there = mounted_at(host, remote.path)
    if there is None:
        fail(Code.STORAGE_UNUSABLE, f"nothing is mounted at {remote.path}")
    check_device(host, remote, there)
    if "ro" in there.options:
        fail(Code.STORAGE_UNUSABLE, f"{remote.path} is mounted read-only: {','.join(there.options)}")
    return there


def check_device(host: Host, remote: Remote, there: Mounted) -> None:
    """Raise `Failure` unless `there` has the type, server and share of `remote`."""
    kind, device = _played(host, there) or (there.kind, there.device)
    if _FAMILY.get(kind, kind) != remote.kind or not _same_share(host, remote, device):
        fail(
            Code.STORAGE_UNUSABLE,
            f"{device} of type {kind} is mounted at {remote.path} instead of {remote.device} of type {remote.kind}",
            final=True,
        )


_FAMILY = {"nfs": "nfs4"}
"""The kernel's name of NFS 3, which a platform may use for the same export: HyperPod's options are unknown.
assumption: platform-mounts-openzfs-by-nfs-4"""


def _same_share(host: Host, remote: Remote, device: str) -> bool:
    """Return whether `device` is the same share of the same server. Lustre shows addresses instead of the name."""
    server, found, share = device.rpartition(":/")
    if not found or "/" + share.rstrip("/") != remote.share.rstrip("/"):
        return False
    servers = {part.split("@")[0] for part in server.replace(",", ":").split(":")}
    return remote.server in servers or bool(servers & set(addresses_of(host, remote.server)))


def _played(host: Host, there: Mounted) -> Optional[tuple[str, str]]:
    """Return the type and device that the drill's mount program emulates with `there`; `None` if it emulates none.

    Lines of `path number type device`. The device number detects another file system that is mounted over it.
    """
    for line in (host.read(_PLAYED) or "").splitlines():
        words = line.split()
        if words[:2] == [there.path, there.number]:
            return words[2], words[3]
    return None
