"""Rules of plain values: names, numbers, choices, addresses of mail, days that logs are kept, secrets, cron."""

import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeGuard, TypeVar

from llm_fleet.catalog.data_file import CronField, Limit, load
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, PathPart, Problem, is_list_token, is_unresolved

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
    repaired = fix_hyphenated_name(value, limit)
    return [
        Problem(
            code=code,
            message=f"the {what} {' and '.join(faults)}",
            remedy=f"write {repaired!r}" if repaired else f"give the {what} a letter or a digit",
            path=path,
            value=value,
            allowed=f"{limit.range} letters (a to z, A to Z), digits and hyphens; no hyphen at either end",
        )
    ]


def fix_hyphenated_name(value: str, limit: Limit) -> str:
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
    if is_positive(value, most=most):
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


def is_positive(value: float | None, *, most: float = math.inf) -> bool:
    """Return whether `value` is a number above 0, `most` at most. `None` and what is not known yet pass."""
    if value is None or is_unresolved(value):
        return True
    return _is_number(value) and math.isfinite(value) and 0 < value <= most


def _fault(value: object, most: float) -> str:
    if not _is_number(value):
        return "is no number"
    return f"is above {most:g}" if value > most else "is not above 0"


def is_above(left: float | None, right: float | None) -> bool:
    """Return whether both are known numbers, and `left` is the greater."""
    if not _is_number(left) or not _is_number(right) or is_unresolved(left) or is_unresolved(right):
        return False
    return left > right


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)


_SIMILARITY = 0.6
"""difflib's own default: below it an offer misleads more often than it helps."""


def nearest(value: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `value`, whatever the case of either, or `None` when none is like it.

    Of equally like candidates the first in sorted order wins, so that a message is always the same.
    """
    by_folded = {candidate.casefold(): candidate for candidate in sorted(candidates, reverse=True)}
    matches = get_close_matches(value.strip().casefold(), sorted(by_folded), n=1, cutoff=_SIMILARITY)
    return by_folded[matches[0]] if matches else None


def did_you_mean(value: str, candidates: Iterable[str], *, otherwise: str) -> str:
    """Return the remedy that offers the nearest of `candidates`, or `otherwise` when none is near."""
    offer = nearest(value, candidates)
    return f"write {offer!r}" if offer else otherwise


def check_known(
    value: str, known: Collection[str], code: AnyCode, *path: PathPart, message: str, otherwise: str
) -> list[Problem]:
    """Return a problem at `path` unless `value` is one of `known`; the remedy offers the nearest, or is `otherwise`."""
    if is_unresolved(value) or value in known:
        return []
    return [
        Problem(
            code=code,
            message=message,
            remedy=did_you_mean(value, known, otherwise=otherwise),
            path=path,
            value=value,
            allowed=", ".join(known),
        )
    ]


_Value = TypeVar("_Value", bound=Hashable)


def repeated(values: Iterable[_Value]) -> dict[_Value, int]:
    """Return which of `values` are there more than once, in their order, and how often; tokens are not compared."""
    counts = Counter(value for value in values if not is_unresolved(value))
    return {value: count for value, count in counts.items() if count > 1}


_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def check_emails(emails: Sequence[str], code: AnyCode, *path: str) -> list[Problem]:
    """Return a problem below `path` for each of `emails` that is no address, or is there twice. Tokens pass."""
    if is_list_token(emails):
        return []
    return [
        Problem(
            code=code,
            path=(*path, index),
            value=email,
            message="this is no e-mail address, or is there twice",
            allowed="name@example.com, each once",
            remedy="write the address alone, without a name before it",
        )
        for index, email in enumerate(emails)
        if not is_unresolved(email)
        and (type(email) is not str or not _EMAIL.fullmatch(email) or email in emails[:index])
    ]


SECRET_VARIABLE = re.compile(r"(^|_)(TOKEN|PASSWORD|SECRET|CREDENTIALS?|(API|ACCESS|SECRET|PRIVATE)_?KEY)(_|$)")
"""The name of an environment variable, in capital letters."""
SECRET_VALUE = re.compile(r"\b(hf_[A-Za-z]{30,}|A(KIA|SIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,})\b")
"""A token of the Hugging Face Hub, an access key of AWS, a token of GitHub; SageMaker itself looks for some (botocore's
documentation of CreateTrainingJob)."""
SECRET_REFERENCE = re.compile(r"\{\{resolve:(secretsmanager|ssm-secure):")
"""A dynamic reference, whose text CloudFormation would write into the property."""


CRON_EXAMPLE = "cron(0 3 ? * SUN *)"


def cron_fault(expression: str) -> str | None:
    """Return what is wrong with `expression`, AWS's cron, in words that go on from "the schedule", or `None`.

    Six fields: minute, hour, day of the month, month, day of the week, year; `?` in one of the two days.
    """
    if not (expression.startswith("cron(") and expression.endswith(")")):
        return "is not inside cron(…)"
    fields = expression.removeprefix("cron(").removesuffix(")").split()
    known = tuple(hyperpod_facts().cron.values())
    if len(fields) != len(known):
        missing = " (the sixth is the year)" if len(fields) == len(known) - 1 else ""
        return f"has {len(fields)} fields, and AWS's cron has {len(known)}{missing}"
    for text, field in zip(fields, known, strict=True):
        if not all(_is_cron_part(part, field) for part in text.split(",")):
            return f"has {text!r} as {field.name}, which is {_cron_range(field)}"
    if (fields[2] == "?") == (fields[4] == "?"):
        return "needs ? in exactly one of its two days, of the month and of the week"
    return None


def _is_cron_part(part: str, field: CronField) -> bool:
    """Whether `part`, which has no comma, is something that `field` may hold."""
    if "day" in field.name and _is_cron_day(part, field):
        return True
    base, slash, step = part.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        return False
    if base == "*":
        return True
    first, dash, last = base.partition("-")
    low, high = field.number(first), field.number(last or first)
    return low is not None and high is not None and (not dash or (bool(last) and low <= high))


def _is_cron_day(part: str, field: CronField) -> bool:
    """Whether `part` is of the forms that only days have: `?`, `L`, `3W`, `6L`, `TUE#2`."""
    if part in ("?", "L"):
        return True
    if field.names:
        day, hash_sign, week = part.partition("#")
        nth = bool(hash_sign) and week in ("1", "2", "3", "4", "5") and field.number(day) is not None
        return nth or (part.endswith("L") and field.number(part[:-1]) is not None)
    return part == "LW" or (part.endswith("W") and field.number(part[:-1]) is not None)


def _cron_range(field: CronField) -> str:
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"{field.minimum} to {field.maximum}{names}"


def policy_size(characters: int) -> list[Problem]:
    """Return what is wrong with a policy of that many `characters`, white space not counted."""
    limit = load("node_permissions")["managed_policy_characters"]
    if characters <= limit:
        return []
    return [
        Problem(
            code=Code.NODE_POLICY_SIZE,
            message="these features make a longer policy than IAM takes",
            value=characters,
            allowed=f"at most {limit} characters",
            path=("features",),
            remedy="name fewer buckets, repositories and alarms: gather data below prefixes of one bucket",
        )
    ]
