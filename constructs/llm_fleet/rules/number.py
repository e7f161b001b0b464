"""The one way to say that a number is out of bounds."""

import math
from typing import TypeGuard

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_number(
    value: int | None, limit: Limit, code: AnyCode, *path: str, what: str, remedy: str = ""
) -> list[Problem]:
    """Return a problem at `path` when `value` is a known number outside `limit`; `what` names it, e.g. `port`.

    `None` passes: it stands for the service's default. What is no whole number is refused, though types forbid it: not
    every user has a type checker, and a comparison would fail with a traceback.
    """
    if value is None or is_unresolved(value):
        return []
    if type(value) is not int:
        return [_no_number(value, limit, code, *path, what=what)]
    if limit.holds(value):
        return []
    if limit.minimum is not None and value < limit.minimum:
        fault = "is negative" if value < 0 <= limit.minimum else f"is below {limit.minimum}"
        nearest_allowed = limit.minimum
    else:
        fault, nearest_allowed = f"is above {limit.maximum}", limit.maximum
    return [
        Problem(
            code=code,
            message=f"{what} {fault}",
            remedy=remedy or f"write {nearest_allowed}, or another number in the range",
            path=path,
            value=value,
            allowed=limit.range,
        )
    ]


def _no_number(value: object, limit: Limit, code: AnyCode, *path: str, what: str) -> Problem:
    return Problem(
        code=code,
        message=f"{what} is no whole number",
        remedy="write a whole number without quotes",
        path=path,
        value=value,
        allowed=limit.range,
    )


def check_retention_days(days: int | None, code: AnyCode, *path: str) -> list[Problem]:
    """Check that CloudWatch Logs can keep a log for `days`; `None` passes: it stands for the default."""
    choices = address_facts().log_retention_days
    if days is None or is_unresolved(days) or days in choices:
        return []
    return [
        Problem(
            code=code,
            path=path,
            message=f"CloudWatch Logs cannot keep a log for {days} days",
            value=days,
            allowed=", ".join(map(str, choices)),
            remedy=f"write {min(choices, key=lambda choice: (abs(choice - days), choice))}",
        )
    ]


def check_positive(
    value: float | None, code: AnyCode, *path: str, what: str, remedy: str, most: float = math.inf
) -> list[Problem]:
    """Return a problem at `path` unless `value` is a number above 0, `most` at most.

    `None` and what is not known yet pass. `what` names it, e.g. `the share of errors`.
    """
    if value is None or is_unresolved(value):
        return []
    if _is_number(value) and math.isfinite(value) and 0 < value <= most:
        return []
    allowed = "a number above 0" if most == math.inf else f"a number above 0, up to {most:g}"
    return [
        Problem(
            code=code,
            path=path,
            value=value,
            message=f"{what} {_fault(value, most)}",
            allowed=allowed,
            remedy=remedy,
        )
    ]


def _fault(value: object, most: float) -> str:
    if not _is_number(value):
        return "is no number"
    return f"is above {most:g}" if value > most else "is not above 0"


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)
