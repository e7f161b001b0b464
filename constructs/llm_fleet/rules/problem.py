"""`Problem`: what is wrong, where, and the fix. `is_unresolved`: whether a value is a CDK token, which rules skip."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import wraps
from typing import Any, ParamSpec, Self, cast

_LIST_MARKER = "#{Token["
_STRING_MARKERS = ("${Token[", _LIST_MARKER)
_NUMBER_TOKEN_CEILING = -1.8e289


def is_unresolved(value: Any) -> bool:
    """Return whether `value` is or contains a CDK token, which is resolved at deployment.

    Rules skip such a value. Tokens cross jsii as marked strings, as hugely negative numbers
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
        # jsii raises it for a token that has the property without a value.
        return True


def is_list_token(value: Any) -> bool:
    """Return whether `value` is a token for a list, whose length is resolved at deployment, too."""
    if not isinstance(value, list | tuple):
        return False
    items: list[Any] = [*value]
    return any(isinstance(item, str) and item.startswith(_LIST_MARKER) for item in items)


class AnyCode(StrEnum):
    """The base of the enums of error codes. Each mistake has one code, and no two enums share a code."""

    def __new__(cls, code: str, title: str) -> Self:
        """Make a member whose value is `code` and whose `title_` is its title in the docs."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.title_ = title
        return member

    title_: str


PathPart = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake, with all that its reader needs to fix it."""

    code: AnyCode
    message: str
    """What is wrong, with the user's keys and units: lower case, no full stop."""
    remedy: str
    """An instruction: what to write or do instead."""
    path: tuple[PathPart, ...] = ()
    """Where: attribute names and indexes, from the value that the rule checks."""
    value: Any = None
    """The value that was given; `None` when it is missing."""
    allowed: str = ""
    """What is allowed; empty when the message says it."""

    def under(self, *prefix: PathPart) -> "Problem":
        """Return the same problem with a path that begins with `prefix`."""
        return replace(self, path=(*prefix, *self.path))

    @property
    def where(self) -> str:
        """The path as text, e.g. `clusters.train.groups.workers.type` or `groups[2].count`."""
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
    """Turn `check`, a generator that yields problems, into a function that returns their list."""

    @wraps(check)
    def listed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> list[Problem]:
        return list(check(*args, **kwargs))

    return listed


class FleetError(ValueError):
    """All mistakes in what the user gave, reported together.

    `problems` has each mistake as data; the text is for a terminal.
    """

    def __init__(self, problems: Sequence[Problem], *, subject: str = "") -> None:
        """Take at least one problem, found in `subject` (a file name or a construct path). Equal ones are one."""
        self.problems = tuple(each for place, each in enumerate(problems) if each not in problems[:place])
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
    """Return `problems` with paths that begin with `prefix`."""
    return [problem.under(*prefix) for problem in problems]


def as_yaml(value: Any) -> str:
    """Return `value` as YAML on one line, e.g. `{size: 4800, efa: true}`; `repr` of what YAML has no form for."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return f"{{{', '.join(f'{key}: {as_yaml(inner)}' for key, inner in entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_yaml, cast('Sequence[Any]', value)))}]"
    return repr(value.value if isinstance(value, Enum) else value)


def _short(value: Any, limit: int = 120) -> str:
    """`value` as YAML, cut after `limit` characters."""
    text = as_yaml(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
