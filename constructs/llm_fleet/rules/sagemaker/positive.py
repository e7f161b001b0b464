"""A number above 0, whole or not: what thresholds and targets are."""

import math
from typing import TypeGuard

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


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
