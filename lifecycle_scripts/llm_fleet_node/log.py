"""What a start says: lines for people, on the screen and in a file."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Optional, TextIO

from llm_fleet_node.failures import Code, Failure

NAME = "llm-fleet.log"


class Log:
    """Lines on standard output, which the platform ships, and in a file that outlives the node's last second.

    A disk that becomes full later on keeps nothing from being done: see `trouble`.
    """

    def __init__(
        self, folder: Optional[Path], *, started: float, silent: bool = False, errors_twice: bool = False
    ) -> None:
        """Open the log in `folder`; `None` writes no file. `silent` says only errors, and those on standard error.

        `started` is the time in seconds since 1970 from which lines are counted. `errors_twice`: on standard output,
        too, where that is another stream. Raises `Failure` when the file cannot be opened.
        """
        self._started = started
        self._silent = silent
        self._errors_twice = errors_twice and not silent and not _are_one(sys.stdout, sys.stderr)
        self._file: Optional[int] = None
        self.trouble: Optional[str] = None
        """Why a line could not be kept; `None` when all were."""
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise Failure(Code.REPORT, f"{folder} takes no log: {error.strerror}") from error

    def line(self, text: str, *, error: bool = False) -> None:
        """Write `text`, which may have several lines; an `error` goes to standard error."""
        now = time.time()
        text = text.encode("utf-8", "backslashreplace").decode()  # a file's bytes that are no UTF-8 cannot be printed
        if error or not self._silent:
            try:
                print(f"{now - self._started:8.2f}  {text}", file=sys.stderr if error else sys.stdout, flush=True)
                if error and self._errors_twice:
                    print(f"{now - self._started:8.2f}  {text}", flush=True)
            except OSError as failed:
                self.trouble = f"standard output takes no line: {failed.strerror}"
        if self._file is None:
            return
        try:
            os.write(self._file, f"{stamp(now)}  {text}\n".encode())
        except OSError as failed:
            self.trouble = f"{NAME} takes no line: {failed.strerror}"

    def sync(self) -> None:
        """Make sure that what was said is on disk. Too slow for each line: a node's steps say hundreds."""
        if self._file is None:
            return
        try:
            os.fsync(self._file)
        except OSError as failed:
            self.trouble = f"{NAME} cannot be kept: {failed.strerror}"


def leave_screen() -> None:
    """Let go of standard output and error before the end.

    What a full disk did not take of them is given up: Python would try once more, and end with a code of its own, 120.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def _are_one(first: TextIO, second: TextIO) -> bool:
    """Return whether both lead to one place."""
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except (OSError, ValueError):
        return False


def stamp(seconds: float) -> str:
    """Return a time as `2026-11-20T08:00:00.123Z`."""
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1000):03d}Z"
