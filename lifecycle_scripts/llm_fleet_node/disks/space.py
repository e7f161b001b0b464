"""Says when a disk is too full to work with."""

from __future__ import annotations

import os

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host

_GIB = 1 << 30
LEAST_FREE = 5 * _GIB
"""Less than a small container image: nothing could be started."""
_LEAST_FILES = 10_000


def prove_space(host: Host, place: str) -> None:
    """Raise `Failure` when the file system of `place` has too little room."""
    there = os.statvfs(host.path(place))
    free, size = there.f_bavail * there.f_frsize, there.f_blocks * there.f_frsize
    if free < LEAST_FREE:
        fail(
            Code.DISK_FULL,
            f"{place} has {free / _GIB:.1f} GiB free of {size / _GIB:.1f} GiB; {LEAST_FREE // _GIB} GiB are needed",
        )
    if there.f_files and there.f_favail < _LEAST_FILES:
        fail(Code.DISK_FULL, f"{place} has room for {there.f_favail} more files; {_LEAST_FILES} are needed")
