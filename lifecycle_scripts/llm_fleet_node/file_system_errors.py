"""Errors of the node's file system: not a defect of a step, so they have a code, the path and a remedy."""

from __future__ import annotations

import errno
import os
from typing import Optional

from llm_fleet_node.failures import Code, Failure

_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = errno.EROFS
_IN_THE_WAY = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
_DENIED = (errno.EACCES, errno.EPERM, errno.EIO, errno.ELOOP)


def file_system_failure(error: Exception) -> Optional[Failure]:
    """Return the failure for `error`, an `OSError` or a failed command; `None` if it is not a file system error."""
    if isinstance(error, Failure):
        return _of_command(error) if error.code is Code.COMMAND else None
    if not isinstance(error, OSError):
        return None
    if error.errno is None:  # shutil.Error, which has the causes as text
        return _of_text(str(error))
    path = _path(error)
    if error.errno in _FULL:
        return Failure(Code.DISK_FULL, str(error))
    if error.errno == _READ_ONLY:
        return Failure(Code.LOCAL_PATH, f"{path} cannot be written: its file system is read-only")
    if error.errno in _IN_THE_WAY:
        return Failure(Code.LOCAL_PATH, _in_the_way(path, error))
    return Failure(Code.LOCAL_PATH, f"{path} cannot be used: {error.strerror}") if error.errno in _DENIED else None


def _of_command(failure: Failure) -> Optional[Failure]:
    for number, code in ((errno.ENOSPC, Code.DISK_FULL), (_READ_ONLY, Code.LOCAL_PATH)):
        if os.strerror(number) in failure.cause:
            return Failure(code, failure.cause)
    return None


def _of_text(text: str) -> Optional[Failure]:
    if os.strerror(errno.ENOSPC) in text:
        return Failure(Code.DISK_FULL, text)
    return Failure(Code.LOCAL_PATH, text) if os.strerror(_READ_ONLY) in text else None


def _path(error: OSError) -> str:
    """Return the path of the failed call; the target of a rename."""
    found = error.filename2 if error.filename2 is not None else error.filename
    return os.fsdecode(found) if isinstance(found, (str, bytes)) else "a file"


def _in_the_way(path: str, error: OSError) -> str:
    """Describe the obstacle: a file where a parent folder of `path` must be, or the object at `path` itself."""
    part = path
    while part not in ("/", ""):
        if os.path.lexists(part) and not os.path.isdir(part):
            return f"{part} is a file, but must be a folder" if error.errno != errno.EISDIR else _folder(path)
        part = os.path.dirname(part)
    return _folder(path) if os.path.isdir(path) else f"{path} cannot be used: {error.strerror}"


def _folder(path: str) -> str:
    return f"{path} is a folder, but must be a file"
