"""FSx for OpenZFS is mounted with NFS, writable, and root can change the owner of files."""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Mount
from llm_fleet_node.mounts.identity import is_mounted
from llm_fleet_node.mounts.mounting import ensure_mounted
from llm_fleet_node.mounts.of_group import mounts_of
from llm_fleet_node.mounts.parallelcluster import check_was_mounted, volume_path
from llm_fleet_node.mounts.proof import new_file, prove_writable
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_EXPORT = "/fsx"
"""Path of the root volume of every OpenZFS file system."""
_OPTIONS = (
    "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576,hard,timeo=600,_netdev,x-systemd.mount-timeout=90"
)
"""`nconnect`: one TCP connection has only a part of the server's throughput; 16 is the maximum of Linux."""
_PORT = 2049
_DEADLINE = 120.0
_SOMEONE = 65534


def _apply(node: Node) -> None:
    for mount in mounts_of(node, "open_zfs"):
        if not node.on_parallelcluster:
            ensure_mounted(node.host, _remote(mount, _EXPORT), seconds=_DEADLINE)


def _verify(node: Node) -> None:
    for mount in mounts_of(node, "open_zfs"):
        export = _EXPORT
        if node.on_parallelcluster:
            check_was_mounted(node.host, mount.mount_path)
            export = volume_path(node.host, mount.mount_path, below=_EXPORT)
        there = is_mounted(node.host, _remote(mount, export))
        if there.kind == "nfs":
            node.say(f"the platform has mounted {mount.mount_path} with NFS 3: locks and speed differ from NFS 4")
        _prove_root(node.host, mount.mount_path)
        prove_writable(node.host, mount.mount_path)


def _remote(mount: Mount, export: str) -> Remote:
    return Remote(
        kind="nfs4",
        server=mount.dns_name,
        port=_PORT,
        device=f"{mount.dns_name}:{export}",
        path=mount.mount_path,
        options=_OPTIONS,
    )


def _prove_root(host: Host, path: str) -> None:
    """Raise `Failure` unless root's files belong to root, and root can change their owner, as for home directories."""
    try:
        with new_file(host, path) as handle:
            owner = os.fstat(handle).st_uid
            if owner != os.geteuid():
                fail(Code.ROOT_SQUASH, f"a file that root creates in {path} belongs to {owner}")
            os.fchown(handle, _SOMEONE, _SOMEONE)
    except PermissionError as error:
        fail(Code.ROOT_SQUASH, f"root cannot create a file in {path} and change its owner: {error.strerror}")
    except OSError as error:
        fail(Code.STORAGE_UNUSABLE, f"{path} cannot be written: {error.strerror}")


def _skip(node: Node) -> Optional[str]:
    return None if mounts_of(node, "open_zfs") else f"group {node.group.name} has no OpenZFS file system"


STEP = Step(
    name="mount_open_zfs",
    summary="OpenZFS file systems are mounted and writable, without root squash",
    roles=EVERY_ROLE,
    needs=("hosts",),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=300,
)
