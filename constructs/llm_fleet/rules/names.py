"""Names of letters, digits and hyphens, the form that SageMaker asks of most names."""

import re

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9-]")


def check_hyphenated_name(value: str | None, limit: Limit, code: AnyCode, *path: str, what: str) -> list[Problem]:
    """Return one problem that tells everything wrong with `value`; `None` passes. The remedy is a mended name.

    `limit` bounds the length; its pattern must be that of letters, digits and hyphens inside.
    """
    if value is None or is_unresolved(value):
        return []
    faults = _faults(value, limit)
    if not faults:
        return []
    mended = mend_hyphenated_name(value, limit)
    return [
        Problem(
            code=code,
            message=f"the {what} {' and '.join(faults)}",
            remedy=f"write {mended!r}" if mended else f"give the {what} a letter or a digit",
            path=path,
            value=value,
            allowed=f"{limit.range} letters (a to z, A to Z), digits and hyphens; no hyphen at either end",
        )
    ]


def mend_hyphenated_name(value: str, limit: Limit) -> str:
    """Return the name most like `value` that has the form; empty when nothing of it can stay."""
    hyphenated = re.sub(r"-+", "-", _NOT_ALLOWED.sub("-", value))
    return hyphenated.strip("-")[: limit.maximum].rstrip("-")


def _faults(value: str, limit: Limit) -> list[str]:
    if not value:
        return ["is empty"]
    faults: list[str] = []
    if not limit.holds(len(value)):
        faults.append(f"is {len(value)} characters long, {len(value) - (limit.maximum or 0)} too many")
    wrong = dict.fromkeys(_NOT_ALLOWED.findall(value))
    if wrong:
        faults.append(f"holds {', '.join(map(_say, wrong))}")
    if value.startswith("-") or value.endswith("-"):
        faults.append("begins or ends with a hyphen")
    if not faults and not limit.matches(value):
        faults.append("has not the form that AWS asks")
    return faults


def _say(character: str) -> str:
    """`character` by a word where it is hard to see."""
    return {"_": "an underscore", " ": "a space", ".": "a dot", "/": "a slash"}.get(character, repr(character))
