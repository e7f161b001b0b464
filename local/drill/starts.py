"""Starts of nodes that are under way, and how they end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from local.drill.nodes.node import Node, NodeError, Running

REPORT = "/var/log/llm-fleet/report.json"
"""What the scripts leave on a node, once all steps are done and verified, and before they end."""
LATE = 124
"""Exit code of a script that did not end in time."""
_PAUSE = 0.05


@dataclass(frozen=True)
class Start:
    """One node's script that was started."""

    node: Node
    run: Running
    at: float
    """When, in seconds since 1970."""
    old_report: int
    """Distinguishes the report of an earlier start from this one's, which removes that before it writes its own."""


class Starts:
    """The scripts of some nodes, started at the same time."""

    def __init__(self, starts: Mapping[str, Start], ended: Callable[[str, int], None]) -> None:
        """The starts by the nodes' names, and a function that is called with the result of each."""
        self.starts = dict(starts)
        self.codes: dict[str, int] = {}
        """Exit codes of those that have ended."""
        self.ended_at: dict[str, float] = {}
        self._ended = ended

    def wait_for_reports(self, *, seconds: float) -> None:
        """Wait until every node has left its report, or its script has ended without one."""
        deadline = time.monotonic() + seconds
        waiting = dict(self.starts)
        while waiting and time.monotonic() < deadline:
            self._look()
            waiting = {
                name: start
                for name, start in waiting.items()
                if name not in self.codes and report_stamp(start.node) in (0, start.old_report)
            }
            time.sleep(_PAUSE)

    def wait(self, *, seconds: float) -> dict[str, int]:
        """Wait until all have ended, kill those that have not in time; return the exit codes."""
        deadline = time.monotonic() + seconds
        while len(self.codes) < len(self.starts):
            self._look()
            if time.monotonic() > deadline:
                self._kill_the_rest()
            time.sleep(_PAUSE)
        return self.codes

    def _look(self) -> None:
        for name, start in self.starts.items():
            code = start.run.poll() if name not in self.codes else None
            if code is not None:
                self._end(name, code)

    def _kill_the_rest(self) -> None:
        for name, start in self.starts.items():
            if name not in self.codes:
                start.run.kill()
                self._end(name, LATE)

    def _end(self, name: str, code: int) -> None:
        self.codes[name], self.ended_at[name] = code, time.time()
        self._ended(name, code)


def report_stamp(node: Node) -> int:
    """Return what changes when the node leaves another report; 0 when it has left none, or cannot be looked at."""
    try:
        return os.stat(f"{node.root}{REPORT}").st_mtime_ns
    except (OSError, NodeError):
        return 0
