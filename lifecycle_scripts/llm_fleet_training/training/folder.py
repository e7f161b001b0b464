"""Checks that the run folder is writable before anything is computed."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path

from llm_fleet_training.failures import Code, Failure, fail

SPARE = 1.02
"""Required free space in addition to a checkpoint: records, folders, rows of metrics."""


def writable(folder: Path) -> None:
    """Create the folder and a file in it; LFJ10 or LFJ11 when that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".trial.{uuid.uuid4().hex}"
        trial.write_text("llm-fleet wrote this file to check that the folder is writable.\n")
        trial.unlink()
    except OSError as error:
        raise of_error(error, folder) from error


def room(folder: Path, wanted: int) -> None:
    """LFJ11 when `wanted` bytes and a reserve are not free; quotas are detected only when a file is written."""
    free = shutil.disk_usage(folder).free
    if free < wanted * SPARE:
        fail(Code.DISK_SPACE, f"{folder} has {_size(free)} free, but a checkpoint needs {_size(wanted)}")


def of_error(error: OSError, folder: Path) -> Failure:
    """The failure for an error of writing."""
    words = f"{error.filename or folder}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failure(Code.DISK_SPACE, words)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return Failure(Code.OUTPUT_FOLDER, words)
    return Failure(Code.INCOMPLETE_CHECKPOINT, words, final=False)  # E.g. EIO, ESTALE: another node may succeed.


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count //= 1024
    return f"{count} TiB"
