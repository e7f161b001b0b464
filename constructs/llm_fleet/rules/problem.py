"""What a problem is: its code, place, value and remedy; and what a CDK token is, which rules pass over."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from typing import Any, ParamSpec, Self

_LIST_MARKER = "#{Token["
_STRING_MARKERS = ("${Token[", _LIST_MARKER)
_NUMBER_TOKEN_CEILING = -1.8e289


def is_unresolved(value: Any) -> bool:
    """Return whether `value` is, or holds, a CDK token, whose value is known only at deploy time.

    A rule passes over such a value. Tokens cross jsii as marked strings, as hugely negative numbers
    (aws-cdk-lib core/lib/private/encoding: -1.8881545897087e+289 and below) or as objects with `resolve`.
    """
    if isinstance(value, str):
        return any(marker in value for marker in _STRING_MARKERS)
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return value <= _NUMBER_TOKEN_CEILING
    if isinstance(value, list | tuple):
        return any(map(is_unresolved, value))  # pyright: ignore[reportUnknownArgumentType]
    if not hasattr(value, "resolve"):
        return False
    try:
        return hasattr(value, "creation_stack")
    except RuntimeError:
        # jsii's answer of a token that has the property, without a value.
        return True


def is_list_token(value: Any) -> bool:
    """Return whether `value` is a token for a whole list, whose length as well is known only at deploy time."""
    if not isinstance(value, list | tuple):
        return False
    items: list[Any] = [*value]
    return any(isinstance(item, str) and item.startswith(_LIST_MARKER) for item in items)


class AnyCode(StrEnum):
    """One mistake, one code; lists of them are its subclasses. No two lists have a code in common."""

    def __new__(cls, code: str, title: str) -> Self:
        """Make a member whose value is `code` and whose `title_` says in short what the mistake is."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.title_ = title
        return member

    title_: str


PathPart = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake, told so that its reader can mend it without looking anything up."""

    code: AnyCode
    message: str
    """What is wrong, in the user's words: lower case, no full stop."""
    remedy: str
    """What to write or do instead."""
    path: tuple[PathPart, ...] = ()
    """Where, from the value that the rule was given, by attribute name or index."""
    value: Any = None
    """The value given; `None` when the mistake is that there is none."""
    allowed: str = ""
    """What would be accepted; empty when the message says it all."""

    def under(self, *prefix: PathPart) -> "Problem":
        """Return the same problem, seen from further out."""
        return replace(self, path=(*prefix, *self.path))

    @property
    def where(self) -> str:
        """The path as the user would write it, e.g. `clusters.train.groups.workers.type` or `groups[2].count`."""
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text

    def __str__(self) -> str:
        lines = [f"{self.where}  [{self.code.value}]".lstrip(), f"  {self.message}"]
        if self.value is not None:
            lines.append(f"  given:   {_short(self.value)}")
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        lines.append(f"  remedy:  {self.remedy}")
        return "\n".join(lines)


_Arguments = ParamSpec("_Arguments")


def rule(check: Callable[_Arguments, Iterable[Problem]]) -> Callable[_Arguments, list[Problem]]:
    """Let `check` be written as a generator, which yields each problem where it finds it; callers get the list."""

    @wraps(check)
    def listed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> list[Problem]:
        return list(check(*args, **kwargs))

    return listed


class FleetError(ValueError):
    """Everything that is wrong with what the user gave, at once.

    `problems` has each mistake as data; the text is made for a terminal.
    """

    def __init__(self, problems: Sequence[Problem], *, subject: str = "") -> None:
        """Take one problem or more, found in `subject` (a file's name or a construct's path)."""
        self.problems = tuple(problems)
        self.subject = subject
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        heading = f"{count} in {subject}" if subject else count
        super().__init__("\n\n".join([f"{heading}:", *map(str, self.problems)]))


def raise_problems(problems: Iterable[Problem], *, subject: str = "") -> None:
    """Raise one `FleetError` with all `problems`; do nothing when there is none."""
    found = list(problems)
    if found:
        raise FleetError(found, subject=subject)


def under(problems: Iterable[Problem], *prefix: PathPart) -> list[Problem]:
    """Return `problems`, seen from further out: their paths begin with `prefix`."""
    return [problem.under(*prefix) for problem in problems]


def _short(value: Any, limit: int = 120) -> str:
    """`value` as Python would write it, cut where it is longer than `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
