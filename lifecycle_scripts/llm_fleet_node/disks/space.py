"""Says when a disk is too full to work with."""

from __future__ import annotations

import os
from pathlib import Path

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

_MIB, _GIB = 1 << 20, 1 << 30
LEAST_FREE = 5 * _GIB
"""Less than a small container image: nothing could be started."""
LEAST_FREE_ON_ROOT = 1 * _GIB
"""Less, and logs, packages and the drafts of files do not fit beside one another."""
_LEAST_FILES = 10_000


def prove_space(host: Host, place: str, *, least: int = LEAST_FREE, files: int = _LEAST_FILES) -> None:
    """Raise `Failure` when the file system of `place` has less than `least` bytes or room for fewer than `files`.

    What only root may still fill does not count: daemons and people cannot write there. `place` need not be there yet.
    """
    there = os.statvfs(_nearest(host.path(place)))
    free, size = there.f_bavail * there.f_frsize, there.f_blocks * there.f_frsize
    if free < least:
        fail(Code.DISK_FULL, f"{place} has {_shown(free)} free of {_shown(size)}; {_shown(least)} are needed")
    if there.f_files and there.f_favail < files:
        fail(Code.DISK_FULL, f"{place} has room for {there.f_favail} more files; {files} are needed")


def _nearest(path: Path) -> Path:
    """Return `path`, or the folder above it that there is: it would be made on its disk."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _shown(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{size / _MIB:.0f} MiB"
