"""The systemd unit that mounts a bucket with Mountpoint for Amazon S3."""

from __future__ import annotations

import re

from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import S3Mount

_PLAIN = re.compile(r"[A-Za-z0-9:_.]")


def unit_name(mount: S3Mount) -> str:
    """Return the unit's name, e.g. `llm-fleet-s3-data.service` for `/data`; escaped as in systemd.unit(5)."""
    path = mount.mount_path.strip("/")
    escaped = "".join("-" if char == "/" else char if _PLAIN.match(char) else f"\\x{ord(char):02x}" for char in path)
    return f"llm-fleet-s3-{escaped}.service"


def cache_folder(mount: S3Mount, caches: str) -> str:
    """Return the cache folder of the mount below `caches`: two mounts cannot share one."""
    return f"{caches}/{mount.mount_path.strip('/').replace('/', '-')}"


def unit_text(host: Host, mount: S3Mount, *, region: str, caches: str) -> str:
    """Return the unit. `mount-s3` exits after the mount or with an error, and leaves a background process."""
    cache = cache_folder(mount, caches)
    bucket = f"s3://{mount.bucket}/{mount.prefix or ''}"
    lines = [
        "[Unit]",
        f"Description={bucket} at {mount.mount_path} (llm-fleet)",
        "Wants=network-online.target",
        # If the AMI's service mounts the instance store, there is no mount unit to wait for.
        "After=network-online.target dlami-nvme.service",
        f"RequiresMountsFor={cache}",
        "Before=remote-fs.target",
        "",
        "[Service]",
        "Type=forking",
        # An instance store is empty after a stop. The cache has unencrypted objects: only root can read it.
        f"ExecStartPre=/bin/mkdir -p -m 0700 {cache} {mount.mount_path}",
        f"ExecStart={' '.join(_command(host, mount, region, cache))}",
        f"ExecStop={host.which('umount') or '/bin/umount'} {mount.mount_path}",
        "Restart=on-failure",
        "RestartSec=5",
        "",
        "[Install]",
        "WantedBy=remote-fs.target multi-user.target",
        "",
    ]
    return "\n".join(lines)


def _command(host: Host, mount: S3Mount, region: str, cache: str) -> list[str]:
    """Return the command line of mount-s3. Source of the options: awslabs/mountpoint-s3, doc/CONFIGURATION.md."""
    command = [host.which("mount-s3") or "/usr/bin/mount-s3", mount.bucket, mount.mount_path, "--region", region]
    command += ["--allow-other", "--cache", cache]
    if mount.prefix:
        command += ["--prefix", mount.prefix.rstrip("/") + "/"]
    # Objects have no owners: a writable mount is writable for all users, within the permissions of the node's role.
    command += ["--read-only"] if mount.read_only else ["--dir-mode", "0777", "--file-mode", "0666"]
    return command
