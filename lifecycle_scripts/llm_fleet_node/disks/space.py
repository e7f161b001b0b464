"""Checks the free space of disks."""

from __future__ import annotations

import os
from pathlib import Path

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

_MIB, _GIB = 1 << 20, 1 << 30
LEAST_FREE = 5 * _GIB
"""Less than a small container image: no container could start."""
LEAST_FREE_ON_ROOT = 1 * _GIB
"""With less, logs, packages and temporary files do not fit."""
_LEAST_FILES = 10_000


def prove_space(host: Host, place: str, *, least: int = LEAST_FREE, files: int = _LEAST_FILES) -> None:
    """Raise `Failure` if the file system of `place` has less than `least` free bytes or fewer than `files` free inodes.

    Blocks reserved for root do not count: other users cannot use them. `place` may not exist yet.
    """
    there = os.statvfs(_nearest(host.path(place)))
    free, size = there.f_bavail * there.f_frsize, there.f_blocks * there.f_frsize
    if free < least:
        fail(Code.DISK_FULL, f"{place} has {_shown(free)} free of {_shown(size)}; {_shown(least)} are required")
    if there.f_files and there.f_favail < files:
        fail(Code.DISK_FULL, f"{place} has {there.f_favail} free inodes; {files} are required")


def _nearest(path: Path) -> Path:
    """Return `path`, or its closest existing parent folder."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _shown(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{size / _MIB:.0f} MiB"
