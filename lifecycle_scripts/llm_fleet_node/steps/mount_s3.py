"""Buckets are mounted with Mountpoint for Amazon S3, and can be listed."""

from __future__ import annotations

import os
from typing import Optional

from llm_fleet_node import disks, packages, services
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.manifest_parts import S3Mount
from llm_fleet_node.mounts.of_group import s3_mounts_of
from llm_fleet_node.mounts.s3_unit import unit_name, unit_text
from llm_fleet_node.mounts.table import mounted_at
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_PROGRAM = "mount-s3"


def _apply(node: Node) -> None:
    host = node.host
    if host.which(_PROGRAM) is None:
        packages.install(node, [_PROGRAM])
    caches = disks.read(host).s3_cache
    for mount in s3_mounts_of(node):
        if not host.path(mount.mount_path).is_dir():
            host.folder(mount.mount_path)
        _write_unit(host, unit_name(mount), unit_text(host, mount, region=node.manifest.region, caches=caches))
        try:
            services.run_unit(host, unit_name(mount))
        except CommandFailed:
            said = _journal(host, unit_name(mount))
            fail(Code.S3_MOUNT, f"s3://{mount.bucket} cannot be mounted at {mount.mount_path}: {said}")


def _write_unit(host: Host, unit: str, text: str) -> None:
    """Write the unit. A running unit with an older text is stopped first: after a kill, the next run starts it."""
    path = f"/etc/systemd/system/{unit}"
    if host.read(path) not in (None, text) and services.is_active(host, unit):
        host.run("systemctl", "stop", unit, changes=f"stopped {unit}")
    written = host.write(path, text)
    if written or host.run("systemctl", "show", "--property=NeedDaemonReload", "--value", unit).strip() == "yes":
        services.reload_units(host)


def _journal(host: Host, unit: str) -> str:
    try:
        return " ".join(host.run("journalctl", "--unit", unit, "--lines=5", "--output=cat", "--no-pager").split())
    except CommandFailed:
        return f"see `journalctl -u {unit}`"


def _verify(node: Node) -> None:
    for mount in s3_mounts_of(node):
        there = mounted_at(node.host, mount.mount_path)
        if there is None:
            fail(Code.S3_MOUNT, f"nothing is mounted at {mount.mount_path}: {_journal(node.host, unit_name(mount))}")
        if mount.read_only and "ro" not in there.options:
            fail(Code.S3_MOUNT, f"{mount.mount_path} can be written, but the fleet configures it as read-only")
        _list(node, mount)


def _list(node: Node, mount: S3Mount) -> None:
    """List the first objects of the bucket: Mountpoint also mounts a bucket without read permissions."""
    try:
        with os.scandir(node.host.path(mount.mount_path)) as entries:
            next(entries, None)
    except OSError as error:
        fail(Code.S3_MOUNT, f"s3://{mount.bucket} at {mount.mount_path} cannot be listed: {error.strerror}")


def _skip(node: Node) -> Optional[str]:
    return None if s3_mounts_of(node) else f"group {node.group.name} mounts no bucket"


STEP = Step(
    name="mount_s3",
    summary="buckets are mounted and can be listed",
    roles=EVERY_ROLE,
    needs=("hosts", "disks"),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=1500,  # timeout of packages.install, and of the rest
    retries=1,
)
