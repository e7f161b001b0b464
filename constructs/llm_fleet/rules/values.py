"""Rules of plain values: names, numbers, choices, email addresses, log retention, secrets, cron."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeGuard, TypeVar

from llm_fleet.catalog.data_file import CronField, Limit, load
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, PathPart, Problem, is_list_token, is_unresolved

_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9-]")


def check_hyphenated_name(value: str | None, limit: Limit, code: AnyCode, *path: str, what: str) -> list[Problem]:
    """Return one problem with everything that is wrong with `value`; `None` passes. The remedy is a fixed name.

    `limit`: the range of the length, with a pattern of letters, digits and hyphens.
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
            remedy=f"write `{repaired}`" if repaired else f"give the {what} a letter or a digit",
            path=path,
            value=value,
            allowed=f"{_length(limit)} characters: letters a to z and A to Z, digits, hyphens; no hyphen at either end",
        )
    ]


def _length(limit: Limit) -> str:
    return limit.range if limit.minimum else f"at most {limit.maximum}"


def fix_hyphenated_name(value: str, limit: Limit) -> str:
    """Return the valid name nearest to `value`; empty when there is none."""
    hyphenated = re.sub(r"-+", "-", _NOT_ALLOWED.sub("-", value))
    return hyphenated.strip("-")[: limit.maximum].rstrip("-")


def _faults(value: str, limit: Limit) -> list[str]:
    if not value:
        return ["is empty"]
    faults: list[str] = []
    if not limit.holds(len(value)):
        faults.append(f"has {len(value)} characters, {len(value) - (limit.maximum or 0)} too many")
    wrong = dict.fromkeys(_NOT_ALLOWED.findall(value))
    if wrong:
        faults.append(f"contains {', '.join(map(_word, wrong))}")
    if value.startswith("-") or value.endswith("-"):
        faults.append("begins or ends with a hyphen")
    if not faults and not limit.matches(value):
        faults.append("does not have the form that AWS requires")
    return faults


def _word(character: str) -> str:
    """`character`, or a word for one that is hard to see."""
    return {"_": "an underscore", " ": "a space", ".": "a dot", "/": "a slash"}.get(character, repr(character))


def check_number(
    value: int | None, limit: Limit, code: AnyCode, *path: str, what: str, remedy: str = ""
) -> list[Problem]:
    """Return a problem at `path` when `value` is a number outside `limit`; `what` names it, e.g. `the port`.

    `None` and CDK tokens pass. A value that is not a whole number is a problem: not every user has a type checker.
    """
    if value is None or is_unresolved(value):
        return []
    if type(value) is not int:
        return [_no_number(value, code, *path, what=what, allowed=limit.range)]
    if limit.holds(value):
        return []
    return [OutOfRange.of(value, limit, code, what=what, remedy=remedy).under(*path)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfRange(Problem):
    """A whole number outside its range; the loader of fleet files writes its numbers with their units."""

    what: str
    limit: Limit
    usual_remedy: bool

    @classmethod
    def of(cls, value: int, limit: Limit, code: AnyCode, *, what: str, remedy: str = "") -> "OutOfRange":
        """Return the problem of `value`, in plain numbers. Default of `remedy`: write the nearest allowed number."""
        plain = cls(code=code, message="", remedy=remedy, value=value, what=what, limit=limit, usual_remedy=not remedy)
        return plain.written_by(str, f"{plain.nearest}, or another number in the range", value)

    @property
    def nearest(self) -> int:
        """The allowed number nearest to the value."""
        return (self.limit.minimum or 0) if self._too_small else (self.limit.maximum or 0)

    @property
    def _too_small(self) -> bool:
        return self.limit.minimum is not None and self.value < self.limit.minimum

    def written_by(self, text: Callable[[int], str], right: str, value: Any) -> "OutOfRange":
        """Return the same problem with numbers as `text` writes them, `value` as given and `right` as the remedy."""
        return replace(
            self,
            message=f"{self.what} must be at {'least' if self._too_small else 'most'} {text(self.nearest)}",
            value=value,
            allowed=self.limit.range_in(text),
            remedy=f"write {right}" if self.usual_remedy else self.remedy,
        )


def _no_number(value: object, code: AnyCode, *path: str, what: str, allowed: str) -> Problem:
    return Problem(
        code=code,
        message=f"{what} must be a whole number",
        remedy="write a whole number without quotes",
        path=path,
        value=value,
        allowed=allowed,
    )


def check_retention_days(days: int | None, code: AnyCode, *path: str) -> list[Problem]:
    """Check that CloudWatch Logs supports a retention of `days`; `None` is the default."""
    choices = address_facts().log_retention_days
    if days is None or is_unresolved(days) or days in choices:
        return []
    return [
        Problem(
            code=code,
            path=path,
            message=f"CloudWatch Logs does not support a retention of {days} days",
            value=days,
            allowed=", ".join(map(str, choices)),
            remedy=f"write {min(choices, key=lambda choice: (abs(choice - days), choice))}",
        )
    ]


def check_positive(
    value: float | None, code: AnyCode, *path: str, what: str, remedy: str, most: float = math.inf
) -> list[Problem]:
    """Return a problem at `path` unless `value` is a number above 0 and at most `most`.

    `None` and CDK tokens pass. `what` names it, e.g. `the percentage of errors`.
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
    """Return whether `value` is a number above 0 and at most `most`. `None` and CDK tokens pass."""
    if value is None or is_unresolved(value):
        return True
    return _is_number(value) and math.isfinite(value) and 0 < value <= most


def _fault(value: object, most: float) -> str:
    if not _is_number(value):
        return "must be a number"
    return f"must be at most {most:g}" if value > most else "must be above 0"


def is_above(left: float | None, right: float | None) -> bool:
    """Return whether both are known numbers, and `left` is greater."""
    if not _is_number(left) or not _is_number(right) or is_unresolved(left) or is_unresolved(right):
        return False
    return left > right


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)


_SIMILARITY = 0.6
"""difflib's default: less similar proposals are usually wrong."""


def nearest(value: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to `value`, ignoring case, or `None` when none is similar.

    Of equally similar candidates the first in sorted order is returned, so that messages do not vary.
    """
    by_folded = {candidate.casefold(): candidate for candidate in sorted(candidates, reverse=True)}
    matches = get_close_matches(value.strip().casefold(), sorted(by_folded), n=1, cutoff=_SIMILARITY)
    return by_folded[matches[0]] if matches else None


def did_you_mean(value: str, candidates: Iterable[str], *, otherwise: str) -> str:
    """Return the remedy with the nearest of `candidates`, or `otherwise` when none is similar."""
    offer = nearest(value, candidates)
    return f"write `{offer}`" if offer else otherwise


def check_known(
    value: str, known: Collection[str], code: AnyCode, *path: PathPart, message: str, otherwise: str
) -> list[Problem]:
    """Return a problem at `path` unless `value` is one of `known`; the remedy is the nearest one, or `otherwise`."""
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
    """Return the `values` that are repeated, in their order, and their counts; CDK tokens are not compared."""
    counts = Counter(value for value in values if not is_unresolved(value))
    return {value: count for value, count in counts.items() if count > 1}


_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def check_emails(emails: Sequence[str], code: AnyCode, *path: str) -> list[Problem]:
    """Return a problem below `path` for each of `emails` that is not an email address, or is repeated. Tokens pass."""
    if is_list_token(emails):
        return []
    return [
        Problem(
            code=code,
            path=(*path, index),
            value=email,
            message="this is not an email address, or is repeated",
            allowed="name@example.com, each once",
            remedy="write only the address, without a name, and each address once",
        )
        for index, email in enumerate(emails)
        if not is_unresolved(email)
        and (type(email) is not str or not _EMAIL.fullmatch(email) or email in emails[:index])
    ]


SECRET_VARIABLE = re.compile(r"(^|_)(TOKEN|PASSWORD|SECRET|CREDENTIALS?|(API|ACCESS|SECRET|PRIVATE)_?KEY)(_|$)")
"""Names of environment variables, in upper case, that suggest a secret."""
SECRET_VALUE = re.compile(r"\b(hf_[A-Za-z]{30,}|A(KIA|SIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,})\b")
"""A token of the Hugging Face Hub, an AWS access key, a GitHub token; SageMaker itself checks for some (botocore's
documentation of CreateTrainingJob)."""
SECRET_REFERENCE = re.compile(r"\{\{resolve:(secretsmanager|ssm-secure):")
"""A dynamic reference: CloudFormation would write the secret's text to the property."""


CRON_EXAMPLE = "cron(0 3 ? * SUN *)"


def cron_fault(expression: str) -> str | None:
    """Return what is wrong with the AWS cron `expression`, as the predicate of a sentence about "the schedule".

    Six fields: minute, hour, day of the month, month, day of the week, year; `?` in one of the two days.
    """
    if not (expression.startswith("cron(") and expression.endswith(")")):
        return "must have the form cron(…)"
    fields = expression.removeprefix("cron(").removesuffix(")").split()
    known = tuple(hyperpod_facts().cron.values())
    if len(fields) != len(known):
        missing = " (the sixth is the year)" if len(fields) == len(known) - 1 else ""
        return f"has {len(fields)} fields, and must have {len(known)}{missing}"
    for text, field in zip(fields, known, strict=True):
        if not all(_is_cron_part(part, field) for part in text.split(",")):
            return f"has {text!r} as {field.name}, which must be {_cron_range(field)}"
    if (fields[2] == "?") == (fields[4] == "?"):
        return "must have ? in exactly one of its day-of-month and day-of-week fields"
    return None


def _is_cron_part(part: str, field: CronField) -> bool:
    """Whether `part`, without a comma, is valid in `field`."""
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
    """Whether `part` has a form for days only: `?`, `L`, `3W`, `6L`, `TUE#2`."""
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
    """Return a problem when a policy with this number of `characters`, without white space, is too long for IAM."""
    limit = load("node_permissions")["managed_policy_characters"]
    if characters <= limit:
        return []
    return [
        Problem(
            code=Code.NODE_POLICY_SIZE,
            message="the IAM policy for these features is longer than IAM allows",
            value=characters,
            allowed=f"at most {limit} characters",
            path=("features",),
            remedy="use fewer buckets, repositories and alarms, e.g. several prefixes of one bucket",
        )
    ]
