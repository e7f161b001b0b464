"""The folder that a run writes: seen to be writable before anything is computed."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path

from llm_fleet_training.failures import Code, Failure, fail

SPARE = 1.02
"""Free space is wanted for a checkpoint and a little more: records, folders, rows of metrics."""


def writable(folder: Path) -> None:
    """Make the folder, and a file in it; LFJ10 or LFJ11 when that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".trial.{uuid.uuid4().hex}"
        trial.write_text("This file shows that the folder can be written.\n")
        trial.unlink()
    except OSError as error:
        raise of_error(error, folder) from error


def room(folder: Path, wanted: int) -> None:
    """LFJ11 when `wanted` bytes and a little more are not free; quotas show themselves only when one writes."""
    free = shutil.disk_usage(folder).free
    if free < wanted * SPARE:
        fail(Code.SPACE, f"{folder} has {_size(free)} free; a checkpoint takes {_size(wanted)}")


def of_error(error: OSError, folder: Path) -> Failure:
    """What an error of writing says to a user."""
    words = f"{error.filename or folder}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failure(Code.SPACE, words)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return Failure(Code.FOLDER, words)
    return Failure(Code.INCOMPLETE, words, final=False)  # E.g. EIO, ESTALE: another node may fare better.


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count //= 1024
    return f"{count} TiB"
