"""Proves that a file system takes what is written and gives it back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.names import own_name


def prove_writable(host: Host, path: str) -> None:
    """Write a small file of this node's own below `path`, flush, read and remove it. Raises `Failure` else."""
    file = f"{path}/{own_file(host)}"
    content = os.urandom(64)
    try:
        with removed_afterwards(host, file), open(host.path(file), "w+b", buffering=0) as handle:
            handle.write(content)
            os.fsync(handle.fileno())
            handle.seek(0)
            found = handle.read()
    except OSError as error:
        fail(Code.STORAGE_UNFIT, f"{path} cannot be written: {error.strerror}")
    if found != content:
        fail(Code.STORAGE_UNFIT, f"{path} gives back {len(found)} bytes that are not the {len(content)} written")


def own_file(host: Host) -> str:
    """Return a name that no other node uses. It is always the same: one left by a killed run is written over."""
    return f".llm-fleet-{own_name(host) or 'node'}"


@contextlib.contextmanager
def removed_afterwards(host: Host, file: str) -> Generator[None]:
    """Remove `file`, whatever happens."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            host.path(file).unlink()
