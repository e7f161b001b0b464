"""Cron expressions as AWS writes them."""

from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.catalog.limit import CronField

EXAMPLE = "cron(0 3 ? * SUN *)"


def cron_fault(expression: str) -> str | None:
    """Return what is wrong with `expression`, in words that go on from "the schedule", or `None`.

    Six fields: minute, hour, day of the month, month, day of the week, year; `?` in one of the two days.
    """
    if not (expression.startswith("cron(") and expression.endswith(")")):
        return "is not inside cron(…)"
    fields = expression.removeprefix("cron(").removesuffix(")").split()
    known = hyperpod_facts().cron
    if len(fields) != len(known):
        missing = " (the sixth is the year)" if len(fields) == len(known) - 1 else ""
        return f"has {len(fields)} fields, and AWS's cron has {len(known)}{missing}"
    for text, field in zip(fields, known, strict=True):
        if not all(_is_part(part, field) for part in text.split(",")):
            return f"has {text!r} as {field.name}, which is {_range(field)}"
    if (fields[2] == "?") == (fields[4] == "?"):
        return "needs ? in exactly one of its two days, of the month and of the week"
    return None


def _is_part(part: str, field: CronField) -> bool:
    """Whether `part`, which has no comma, is something that `field` may hold."""
    if "day" in field.name and _is_day(part, field):
        return True
    base, slash, step = part.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        return False
    if base == "*":
        return True
    first, dash, last = base.partition("-")
    low, high = field.number(first), field.number(last or first)
    return low is not None and high is not None and (not dash or (bool(last) and low <= high))


def _is_day(part: str, field: CronField) -> bool:
    """Whether `part` is of the forms that only days have: `?`, `L`, `3W`, `6L`, `TUE#2`."""
    if part in ("?", "L"):
        return True
    if field.names:
        day, hash_sign, week = part.partition("#")
        nth = bool(hash_sign) and week in ("1", "2", "3", "4", "5") and field.number(day) is not None
        return nth or (part.endswith("L") and field.number(part[:-1]) is not None)
    return part == "LW" or (part.endswith("W") and field.number(part[:-1]) is not None)


def _range(field: CronField) -> str:
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"{field.minimum} to {field.maximum}{names}"
