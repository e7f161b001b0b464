"""Tests that a file system can be written and read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.names import own_name

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def prove_writable(host: Host, path: str) -> None:
    """Write, flush, read and remove a small file below `path`. Raises `Failure` if that fails."""
    content = os.urandom(64)
    try:
        with new_file(host, path) as handle:
            os.write(handle, content)
            os.fsync(handle)
            found = os.pread(handle, len(content), 0)
    except OSError as error:
        fail(Code.STORAGE_UNUSABLE, f"{path} cannot be written: {error.strerror}")
    if found != content:
        fail(Code.STORAGE_UNUSABLE, f"{path} returned {len(found)} bytes that are not the {len(content)} written")


@contextlib.contextmanager
def new_file(host: Host, folder: str, *, flags: int = 0) -> Generator[int]:
    """Make a file in `folder`, open for writing and reading, and always remove it.

    Its name contains the node's name: a leftover of a killed run is removed first. An existing file is never opened: in
    a folder that all users can write to, such as scratch, it could be a link to a file of root.
    """
    file = host.path(f"{folder}/.llm-fleet-{own_name(host) or 'node'}")
    try:
        file.unlink(missing_ok=True)
    except OSError:  # a user's folder: another, random name is used
        file = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    handle = os.open(file, _NEW | flags, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):
            file.unlink()
