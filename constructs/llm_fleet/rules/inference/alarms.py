"""From when on an alarm rings."""

import math
from typing import Protocol

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_NAMES = ("time_to_first_token_seconds", "waiting_requests", "server_error_percent")


class AlarmThresholdsLike(Protocol):
    """Thresholds of a service's alarms (`AlarmThresholds`)."""

    @property
    def time_to_first_token_seconds(self) -> float | None:
        """Average seconds to the first token."""
        ...

    @property
    def waiting_requests(self) -> float | None:
        """Requests waiting in a task."""
        ...

    @property
    def server_error_percent(self) -> float | None:
        """5xx in a hundred requests."""
        ...


def check_thresholds(thresholds: AlarmThresholdsLike) -> list[Problem]:
    """Return a problem for each threshold that is no number above 0, and for more than a hundred percent."""
    return [problem for name in _NAMES for problem in _check(name, getattr(thresholds, name))]


def _check(name: str, value: object) -> list[Problem]:
    if value is None or is_unresolved(value):
        return []
    most = 100 if name.endswith("_percent") else math.inf
    if type(value) in (int, float) and isinstance(value, int | float) and 0 < value <= most and math.isfinite(value):
        return []
    allowed = "a number above 0" if most == math.inf else f"a number above 0, up to {most}"
    return [
        Problem(
            code=Code.ALARM_THRESHOLD,
            path=(name,),
            value=value,
            message="this threshold would let the alarm ring always, or never",
            allowed=allowed,
            remedy=f"write {allowed}, or leave it out",
        )
    ]
