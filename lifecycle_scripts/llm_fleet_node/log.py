"""The log of a start: on standard output and in a file."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Optional, TextIO

from llm_fleet_node.failures import Code, Failure

NAME = "llm-fleet.log"


class Log:
    """Lines on standard output, which the platform sends to CloudWatch, and in a file.

    A disk that becomes full later stops nothing: see `trouble`.
    """

    def __init__(
        self, folder: Optional[Path], *, started: float, silent: bool = False, errors_twice: bool = False
    ) -> None:
        """Open the log in `folder`; `None` writes no file. `silent`: only errors, on standard error.

        `started`: the start of the run in seconds since 1970; lines show the time since then. `errors_twice`: errors
        also on standard output, if that is another stream. Raises `Failure` if the file cannot be opened.
        """
        self._started = started
        self._silent = silent
        self._errors_twice = errors_twice and not silent and not _are_one(sys.stdout, sys.stderr)
        self._file: Optional[int] = None
        self.trouble: Optional[str] = None
        """Why a line could not be written; `None` if all were written."""
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(
                folder / NAME,
                os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,  # codespell:ignore wronly
                0o640,
            )
        except OSError as error:
            raise Failure(Code.REPORT, f"the log in {folder} cannot be opened: {error.strerror}") from error

    def line(self, text: str, *, error: bool = False) -> None:
        """Write `text`, which can have several lines; an `error` goes to standard error."""
        now = time.time()
        text = text.encode("utf-8", "backslashreplace").decode()  # bytes that are not UTF-8 cannot be printed
        if error or not self._silent:
            try:
                print(f"{now - self._started:8.2f}  {text}", file=sys.stderr if error else sys.stdout, flush=True)
                if error and self._errors_twice:
                    print(f"{now - self._started:8.2f}  {text}", flush=True)
            except OSError as failed:
                self.trouble = f"standard output cannot be written: {failed.strerror}"
        if self._file is None:
            return
        try:
            os.write(self._file, f"{stamp(now)}  {text}\n".encode())
        except OSError as failed:
            self.trouble = f"{NAME} cannot be written: {failed.strerror}"

    def sync(self) -> None:
        """Flush the log to disk. Too slow for each line: the steps of a node write hundreds."""
        if self._file is None:
            return
        try:
            os.fsync(self._file)
        except OSError as failed:
            self.trouble = f"{NAME} cannot be flushed to disk: {failed.strerror}"


def leave_screen() -> None:
    """Close standard output and error before the end.

    Unwritten lines are dropped: otherwise Python would try once more on a full disk, and exit with 120.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY)  # codespell:ignore wronly
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


def _are_one(first: TextIO, second: TextIO) -> bool:
    """Return whether both are the same stream."""
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except (OSError, ValueError):
        return False


def stamp(seconds: float) -> str:
    """Return a time as `2026-11-20T08:00:00.123Z`."""
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1000):03d}Z"
