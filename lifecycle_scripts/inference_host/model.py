"""The model in S3: mounted read-only, and read once before the host reports success."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Optional

from inference_host.failures import Code, fail
from inference_host.host import CommandFailed, Host, say
from inference_host.settings import Mount, Settings

UNIT = "llm-fleet-model.service"
ENVIRONMENT = "/etc/llm-fleet/model.env"
_CACHE = "/var/cache/llm-fleet/model"
_WITNESS = "config.json"
"""A file that every model has; without it, any file is read."""
_BYTES = 4096
_MIB_PER_GIB = 1024
_UNSAFE = re.compile(r"[^\w/.-]", re.ASCII)
"""Characters that systemd treats specially when it splits words."""
_IN_QUOTES = re.compile(r'["\\$`]')
"""Characters that systemd treats specially in a quoted value (systemd.exec, EnvironmentFile)."""
_WITH_BACKSLASH = r"\\\g<0>"


def mount_model(host: Host, settings: Settings) -> dict[str, object]:
    """Mount the model and read a file of it. Raises `Failure`."""
    mount = settings.mount
    if mount is None:
        return {}
    if not host.path("/usr/bin/mount-s3").exists():
        try:
            host.run_often("dnf", "--assumeyes", "--quiet", "install", "mount-s3", seconds=240)
        except CommandFailed as error:
            fail(Code.MOUNTPOINT_INSTALL, f"Mountpoint for S3 could not be installed: {error}")
    host.write(ENVIRONMENT, environment(mount, settings.region))
    for folder in (mount.path, _CACHE):
        _folder(host, folder)
    try:
        host.run("systemctl", "restart", UNIT, seconds=180)
    except CommandFailed as error:
        fail(Code.MOUNT, f"{_place(mount)} could not be mounted: {error}\n{_journal(host)}")
    if not _is_mounted(host, mount.path):
        fail(Code.MOUNT, f"{UNIT} runs, but nothing is mounted at {mount.path}")
    return {"model": _place(mount), "model_file": _read_of(host, mount)}


def environment(mount: Mount, region: str) -> str:
    """Return the unit's environment file. systemd splits MODEL_OPTIONS at spaces that have no backslash before them."""
    options = f"--region {region}"
    if mount.cache_gib:
        options += f" --cache {_CACHE} --max-cache-size {mount.cache_gib * _MIB_PER_GIB}"
    if mount.prefix:
        options += f" --prefix {_UNSAFE.sub(_WITH_BACKSLASH, mount.prefix)}/"
    quoted = _IN_QUOTES.sub(_WITH_BACKSLASH, options)
    return f'MODEL_BUCKET={mount.bucket}\nMODEL_PATH={mount.path}\nMODEL_OPTIONS="{quoted}"\n'


def _folder(host: Host, path: str) -> None:
    try:
        host.path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:  # A Mountpoint that crashed: the unit unmounts it before it mounts again.
        say(f"{path}: {error.strerror}")


def _is_mounted(host: Host, path: str) -> bool:
    mounts = (host.read("/proc/self/mounts") or "").splitlines()
    return any(line.split()[1:2] == [path] for line in mounts)


def _read_of(host: Host, mount: Mount) -> str:
    """Read the beginning of a file of the model, and return its path."""
    top = host.path(mount.path)
    try:
        file = _any_file(top)
        if file is None:
            fail(Code.MODEL_MISSING, f"{_place(mount)} is mounted, but it has no files")
        with file.open("rb") as opened:
            opened.read(_BYTES)
    except OSError as error:
        fail(Code.MODEL_UNREADABLE, f"{_place(mount)} is mounted, but cannot be read: {error}")
    return file.relative_to(top).as_posix()


def _any_file(top: Path) -> Optional[Path]:
    if (top / _WITNESS).is_file():
        return top / _WITNESS
    found = (Path(folder, name) for folder, _, files in os.walk(top, onerror=_raise) for name in sorted(files))
    return next(found, None)


def _raise(error: OSError) -> None:
    raise error


def _place(mount: Mount) -> str:
    return f"s3://{mount.bucket}/{mount.prefix}"


def _journal(host: Host) -> str:
    try:
        return host.run("journalctl", "--unit", UNIT, "--boot", "--lines", "15", "--no-pager", "--output", "cat")
    except CommandFailed as error:
        return str(error)
