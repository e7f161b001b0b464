"""Checks the free space on a disk before it is needed."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Generator

from llm_fleet_training.failures import Code, fail


def in_words(count: float) -> str:
    """E.g. `12.6 GiB`."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def check_room(folder: Path, needed: int, what: str) -> None:
    """LFJ11 when `folder` has less than `needed` bytes free for `what`."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        fail(Code.DISK_SPACE, f"{what} needs {in_words(needed)}, but {folder} has only {in_words(free)} free")


@contextmanager
def writing(folder: Path) -> Generator[None, None, None]:
    """Raise LFJ11 when a disk or quota is full, and LFJ10 when a folder is not writable."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fail(Code.DISK_SPACE, f"{folder}: {error.strerror}")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            fail(Code.OUTPUT_FOLDER, f"{error.filename or folder}: {error.strerror}")
        raise
