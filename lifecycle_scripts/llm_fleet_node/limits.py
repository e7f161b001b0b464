"""How long the runner itself waits, and how much it does side by side."""

from __future__ import annotations

import os
from dataclasses import dataclass

_FEWEST = 4
"""Steps side by side at least: most of them wait for something rather than reckon."""


@dataclass(frozen=True)
class Limits:
    """Deadlines in seconds. Tests and the drill shorten them by environment variables."""

    platform: float = 120
    """For the platform's files to be there, whole, and to know this node."""
    lock: float = 5
    """For a run that was killed to let go of its lock."""
    reports: float = 10
    """For report, metric and event of a failure, together."""
    side_by_side: int = _FEWEST
    """Steps that run at the same time."""

    @classmethod
    def of_this_node(cls) -> Limits:
        """Return those that the environment gives, else the defaults."""
        return cls(
            platform=_seconds("LLM_FLEET_PLATFORM_DEADLINE", cls.platform),
            lock=_seconds("LLM_FLEET_LOCK_DEADLINE", cls.lock),
            reports=_seconds("LLM_FLEET_REPORT_DEADLINE", cls.reports),
            side_by_side=max(_FEWEST, os.cpu_count() or 1),
        )


def _seconds(name: str, default: float) -> float:
    try:
        return max(0.0, float(os.environ[name]))
    except (KeyError, ValueError):
        return default
