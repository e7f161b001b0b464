"""Proves that a file system takes what is written and gives it back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.names import own_name

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def prove_writable(host: Host, path: str) -> None:
    """Write a small file of this node's own below `path`, flush, read and remove it. Raises `Failure` else."""
    content = os.urandom(64)
    try:
        with new_file(host, path) as handle:
            os.write(handle, content)
            os.fsync(handle)
            found = os.pread(handle, len(content), 0)
    except OSError as error:
        fail(Code.STORAGE_UNFIT, f"{path} cannot be written: {error.strerror}")
    if found != content:
        fail(Code.STORAGE_UNFIT, f"{path} gives back {len(found)} bytes that are not the {len(content)} written")


@contextlib.contextmanager
def new_file(host: Host, folder: str, *, flags: int = 0) -> Generator[int]:
    """Make a file in `folder`, open to write and read, and remove it whatever happens.

    Its name is this node's own and always the same: one left by a killed run is removed first. It is never one that
    is there. Where everybody may write, as into scratch, that could be somebody's link to any file of root's.
    """
    file = host.path(f"{folder}/.llm-fleet-{own_name(host) or 'node'}")
    try:
        file.unlink(missing_ok=True)
    except OSError:  # somebody's folder: not in the way of a name that nobody can know
        file = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    handle = os.open(file, _NEW | flags, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):
            file.unlink()
