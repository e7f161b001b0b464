"""Deadlines of the runner, and the number of parallel steps."""

from __future__ import annotations

import os
from dataclasses import dataclass

_FEWEST = 4
"""Minimum number of parallel steps: most of them wait and use no CPU."""


@dataclass(frozen=True)
class Limits:
    """Deadlines in seconds. Tests and the drill shorten them with environment variables."""

    platform: float = 120
    """For the platform's files to be complete and list this node."""
    lock: float = 5
    """For the lock of a killed run to be released."""
    reports: float = 10
    """For report, metric and event after a failure, together."""
    side_by_side: int = _FEWEST
    """Number of parallel steps."""

    @classmethod
    def of_this_node(cls) -> Limits:
        """Return the values of the environment variables, otherwise the defaults."""
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
