"""The shared storage of the training runtime: checks, and the meaning of its errors."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.mounts.table import mount_of
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER
from llm_fleet_node.training.of_group import mount_below, training_of

_SHARED = ("lustre", "nfs", "nfs4", "efs", "fuse", "9p", "beegfs", "ceph")
"""Prefixes of the kernel's names of file systems that several nodes can share."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


def check_shared(node: Node) -> None:
    """Raise `Failure` if the folder of the training runtime is on a local disk of this node.

    Only for a file system that is not in the manifest: the others are verified by their own steps. The
    controller can serve them from a disk of its own, as AWS ParallelCluster's head node does with `/home`.
    """
    folder = training_of(node).folder
    there = mount_of(node.host, folder)
    if mount_below(node, folder) is not None or node.role == CONTROLLER or there is None:
        return
    if not there.kind.startswith(_SHARED):
        fail(
            Code.TRAINING_STORAGE,
            f"{folder} is on {there.device} ({there.kind}), a local disk of this node that other nodes cannot see",
            final=True,
        )


@contextlib.contextmanager
def reported(path: str) -> Generator[None, None, None]:
    """Convert an `OSError` of the storage below `path` to a `Failure`."""
    try:
        yield
    except OSError as error:
        raise as_failure(error, path) from error


def as_failure(error: OSError, path: str) -> Failure:
    """Return the failure for the `error` of the storage at `path`."""
    if error.errno in _FULL:
        return Failure(Code.SHARED_FULL, f"{path}: {error.strerror}")
    return Failure(Code.TRAINING_STORAGE, f"{error.filename or path}: {error.strerror or error}")


def fail_by_command(code: Code, error: CommandFailed, path: str) -> NoReturn:
    """Raise the `Failure` of a command that writes below `path`: with `code`, unless the storage is full."""
    if is_full(error):
        fail(Code.SHARED_FULL, f"{path}: {error.cause}")
    fail(code, error.cause)


def is_full(error: CommandFailed) -> bool:
    """Return whether the command reports a full disk."""
    return any(os.strerror(number) in error.output for number in _FULL)


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raise `Failure` if the storage of `folder` has fewer than `needed` free bytes for `what`."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        fail(Code.SHARED_FULL, f"{folder} has {free} bytes free, but {what} needs about {needed}")


@contextlib.contextmanager
def readable_by_all() -> Generator[None, None, None]:
    """Set the umask, so that new files are readable for all users, and writable only for their owner."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)
