"""Lock for one run at a time."""

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
    """A lock that the kernel releases when its holder ends, so that a killed run leaves no lock behind.

    The runner's children inherit it, so it is released only when they have ended too.
    """

    def __init__(self, folder: Path, *, seconds: float) -> None:
        """Take the lock in `folder`; wait up to `seconds` for the children of a killed run to end.

        Raises `Failure` if another run holds it, or if the file cannot be written.
        """
        path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Failure(Code.STATE, f"{path} cannot be made: {error.strerror}") from error
        try:
            wait_for("end of the other run", self._take, seconds=seconds, code=Code.ALREADY_RUNNING)
        except Failure as failed:
            raise Failure(Code.ALREADY_RUNNING, f"{_holder(path)} holds {path}; {failed.cause}") from failed
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"process {os.getpid()}, since {stamp(time.time())}\n".encode(), 0)
        except OSError as error:
            raise Failure(Code.STATE, f"{path} cannot be written: {error.strerror}") from error

    def release(self) -> None:
        """Release the lock."""
        os.close(self._file)

    def _take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _holder(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace").strip() or "another run"
