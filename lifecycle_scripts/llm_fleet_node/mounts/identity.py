"""Tells whether what is mounted is what should be."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.mounts.table import Mounted, mounted_at
from llm_fleet_node.names import addresses_of


def is_mounted(host: Host, remote: Remote) -> Mounted:
    """Return what is mounted at the path. Raises `Failure` unless that is `remote`, and read-write."""
    there = mounted_at(host, remote.path)
    if there is None:
        fail(Code.STORAGE_UNFIT, f"nothing is mounted at {remote.path}")
    check_device(host, remote, there)
    if "ro" in there.options:
        fail(Code.STORAGE_UNFIT, f"{remote.path} is mounted read-only: {','.join(there.options)}")
    return there


def check_device(host: Host, remote: Remote, there: Mounted) -> None:
    """Raise `Failure` unless `there` is `remote`.

    A kernel that cannot have this type of file system at all has it played by the mount program: where the table of
    mounts then tells no server, it is the program's word that counts.
    """
    if ":/" not in there.device and not _kernel_can(host, remote.kind):
        return
    right_kind = there.kind == remote.kind or not _kernel_can(host, remote.kind)
    if not (right_kind and _same_share(host, remote, there.device)):
        fail(
            Code.STORAGE_UNFIT,
            f"at {remote.path} there is {there.device} of type {there.kind}, not {remote.device} of type {remote.kind}",
            final=True,
        )


def _same_share(host: Host, remote: Remote, device: str) -> bool:
    """Return whether `device` is the same share of the same server. Lustre tells addresses in place of the name."""
    server, found, share = device.rpartition(":/")
    if not found or "/" + share.rstrip("/") != remote.share.rstrip("/"):
        return False
    servers = {part.split("@")[0] for part in server.replace(",", ":").split(":")}
    return remote.server in servers or bool(servers & set(addresses_of(host, remote.server)))


def _kernel_can(host: Host, kind: str) -> bool:
    """Return whether the running kernel has the file system `kind`, or a module for it."""
    known = {line.split()[-1] for line in (host.read("/proc/filesystems") or "").splitlines() if line.split()}
    release = (host.read("/proc/sys/kernel/osrelease") or "").strip()
    module = {"nfs4": "nfsv4"}.get(kind, kind)
    return kind in known or f"/{module}.ko" in (host.read(f"/lib/modules/{release}/modules.dep") or "")
