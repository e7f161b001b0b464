"""Running starts of nodes, and their results."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llm_fleet_local.drill.nodes.node import Node, NodeError, Running

REPORT = "/var/log/llm-fleet/report.json"
"""The report that the scripts write on a node when all steps are done and verified, before they end."""
LATE = 124
"""Exit code of a script that did not end in time."""
_PAUSE = 0.05


@dataclass(frozen=True)
class Start:
    """The started script of one node."""

    node: Node
    run: Running
    at: float
    """When, in seconds since 1970."""
    old_report: int
    """Distinguishes the report of an earlier start, which this start removes, from its own."""


class Starts:
    """The scripts of some nodes, started at the same time."""

    def __init__(self, starts: Mapping[str, Start], ended: Callable[[str, int], None]) -> None:
        """Set the starts by node name, and a function that is called with the result of each."""
        self.starts = dict(starts)
        self.codes: dict[str, int] = {}
        """Exit codes of the starts that have ended."""
        self.ended_at: dict[str, float] = {}
        self._ended = ended

    def wait_for_reports(self, *, seconds: float) -> None:
        """Wait until every node has written its report, or its script has ended without one."""
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
        """Wait until all have ended, and kill those that are late; return the exit codes."""
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
    """Return a value that changes with each report of the node; 0 without a report, or if the node does not answer."""
    try:
        return os.stat(f"{node.root}{REPORT}").st_mtime_ns
    except (OSError, NodeError):
        return 0
