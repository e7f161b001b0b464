"""An attempt at a step, in the runner: a child process with output, an end and a timeout."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, Optional

from llm_fleet_node import child
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.step import Step

_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_CHUNK = 65536


@dataclass(frozen=True)
class Result:
    """The result of an attempt."""

    changes: tuple[str, ...] = ()
    failure: Optional[Failure] = None
    repaired: bool = False
    seconds: Optional[dict[str, float]] = None
    """Duration of `apply` and `verify`; `None` if the process was killed."""


class Attempt:
    """A running attempt at `step`, which starts with the constructor.

    `output` and `process` are files to wait for: `output` is readable when there is output, `process` when the
    process has ended. `started` and `deadline` are seconds of the monotonic clock.
    """

    def __init__(self, step: Step, node: Node, how: str) -> None:
        self.step = step
        self.started = time.monotonic()
        self.deadline = self.started + step.timeout
        """Time of the next action on a timeout; see `end_in_time`."""
        self.is_silent = False
        """Whether `output` is closed, so that it is not waited for."""
        self._late = False
        self._line = b""
        # A file in memory instead of a pipe: a result of any length can be written before it is read.
        self._result = os.memfd_create("result")
        self.output, said = os.pipe()
        with contextlib.suppress(OSError):  # a full disk: the log has recorded it, and the child has its own streams
            sys.stdout.flush()
        runner = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            child.main(step, node, how, result=self._result, output=said, runner=runner)
        os.close(said)
        os.set_blocking(self.output, False)
        self.process = os.pidfd_open(self._pid)

    def lines(self, *, last: bool = False) -> list[str]:
        """Return new output lines; with `last`, also an incomplete last line."""
        pieces = (self._line + self._read()).split(b"\n")
        self._line = b"" if last else pieces.pop()
        if last and not pieces[-1]:
            pieces.pop()
        return [piece.decode("utf-8", "replace").rstrip() for piece in pieces]

    def end_in_time(self, now: float) -> None:
        """After the timeout send SIGTERM, and later SIGKILL."""
        if now >= self.deadline:
            self._signal(signal.SIGKILL if self._late else signal.SIGTERM)
            self.deadline = now + _GRACE
            self._late = True

    def kill(self) -> None:
        """Kill its process group immediately."""
        self._signal(signal.SIGKILL)

    def close(self) -> Result:
        """Wait for its end and return the result."""
        status = os.waitpid(self._pid, 0)[1]
        reported = self._reported()
        for file in (self._result, self.output, self.process):
            os.close(file)
        if self._late or reported is None:
            # Processes that it left running would change the node during the next attempt.
            self._signal(signal.SIGKILL)
        if self._late:
            return Result(failure=Failure(Code.TIMEOUT, f"it did not finish within {self.step.timeout:g} s"))
        if reported is None:
            return Result(failure=Failure(Code.KILLED, f"its process {_how_it_ended(status)}"))
        failure = None
        if reported["failure"]:
            code, cause, final = reported["failure"]
            failure = Failure(Code[code], cause, final=final)
        return Result(tuple(reported["changes"]), failure, reported["repaired"], reported["seconds"])

    def _reported(self) -> Optional[dict[str, Any]]:
        try:
            return json.loads(os.pread(self._result, os.fstat(self._result).st_size, 0))
        except ValueError:
            return None

    def _read(self) -> bytes:
        found = b""
        while True:
            try:
                chunk = os.read(self.output, _CHUNK)
            except BlockingIOError:
                return found
            if not chunk:
                self.is_silent = True
                return found
            found += chunk

    def _signal(self, number: int) -> None:
        for send in (os.killpg, os.kill):  # the child sets its process group only after it starts
            try:
                send(self._pid, number)
            except ProcessLookupError:
                continue
            return


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return "ended without a result"
