"""Lets one run at a time change the node."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.log import stamp
from llm_fleet_node.waiting import wait_for

NAME = "lock"


class Lock:
    """A lock that ends with its holder, however that ends: nobody has to clean up after a run that was killed.

    The runner's children inherit it, so that it is free only when those too are gone.
    """

    def __init__(self, folder: Path, *, seconds: float) -> None:
        """Take the lock in `folder`, waiting up to `seconds` for the children of a killed run to go.

        Raises `Failure` when another run holds it, or the disk takes no file.
        """
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Failure(Code.STATE, f"{path} cannot be made: {error.strerror}") from error
        try:
            wait_for("end of the other run", self._take, seconds=seconds, code=Code.RUNNING)
        except Failure as refused:
            raise Failure(Code.RUNNING, f"{_holder(path)} holds {path}; {refused.cause}") from refused
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"process {os.getpid()}, since {stamp(time.time())}\n".encode(), 0)
        except OSError as error:
            raise Failure(Code.STATE, f"{path} cannot be written: {error.strerror}") from error

    def release(self) -> None:
        """Let others have it."""
        os.close(self._file)

    def _take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _holder(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace").strip() or "another run"
