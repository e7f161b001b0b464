"""The outcome of a step in this run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Optional

from llm_fleet_node.failures import Failure
from llm_fleet_node.log import stamp
from llm_fleet_node.step import Step

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
NOT_REACHED = "not reached"
SKIPPED = "skipped"
VERIFIED, WOULD_BE_APPLIED = "verified", "would be applied"
"""States of a dry run instead of done and failed."""

_KEPT = 20
"""Number of output lines of a step in the report; the log has all lines."""


@dataclass
class Outcome:
    """The outcome of one step. Times are seconds after the run's start."""

    step: Step
    state: str = WAITING
    attempts: int = 0
    started: Optional[float] = None
    ended: Optional[float] = None
    repaired: bool = False
    """Whether an earlier run had done it, but its verification failed and it was applied again."""
    verified_only: bool = False
    """Whether it was only verified, because a step of `--only` needs it."""
    why: str = ""
    """Why it was skipped or not reached."""
    changes: list[str] = field(default_factory=list[str])
    failure: Optional[Failure] = None
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Duration of `apply` and `verify` in the last attempt."""
    output: deque[str] = field(default_factory=lambda: deque[str](maxlen=_KEPT))

    @property
    def is_over(self) -> bool:
        """Whether its state is final."""
        return self.state not in (WAITING, RUNNING)

    def describe(self, start: float) -> dict[str, Any]:
        """Return its entry in the report; `start`: the run's start in seconds since 1970."""
        reported: dict[str, Any] = {
            "name": self.step.name,
            "summary": self.step.summary,
            "state": self.state.replace(" ", "_"),
            "why": self.why or None,
            "attempts": self.attempts,
            "verified_only": self.verified_only,
            "repaired": self.repaired,
            "started": _rounded(self.started),
            "ended": _rounded(self.ended),
            "started_at": None if self.started is None else stamp(start + self.started),
            "ended_at": None if self.ended is None else stamp(start + self.ended),
            "duration": None if self.started is None or self.ended is None else _rounded(self.ended - self.started),
            "seconds": self.seconds,
            "changes": self.changes,
            "code": self.failure.code.code if self.failure else None,
            "cause": self.failure.cause if self.failure else None,
            "remedy": self.failure.code.remedy if self.failure else None,
            "output": list(self.output),
        }
        return reported


def _rounded(seconds: Optional[float]) -> Optional[float]:
    return None if seconds is None else round(seconds, 3)
