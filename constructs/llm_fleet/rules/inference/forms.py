"""Values of the wrong type. Types forbid them, but not every user has a type checker, and a traceback tells nobody."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import AnyCode, Problem
from llm_fleet.rules.tokens import is_unresolved

_PLAIN = (str, int, float, bool)
_PASSED_OVER = "${Token[wrong]}"
"""What rules pass over, as they pass over every value that is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a value may be."""

    wanted: str
    """In the user's words, e.g. `a text`."""
    remedy: str
    """What to write instead, in Python."""
    types: tuple[type, ...] = ()
    """Of which of these it must be."""
    has: tuple[str, ...] = ()
    """Attributes that it must have, where it is of no class that could be named here."""
    optional: bool = False
    """Whether it may be `None`."""
    secret: bool = False
    """Whether it may be a secret, which no message repeats."""
    code: AnyCode = Code.WRONG_TYPE
    """The code of the mistake."""

    def holds(self, value: Any) -> bool:
        """Return whether `value` is of this form; a token is of every plain one."""
        if value is None:
            return self.optional
        if isinstance(value, _PLAIN) and is_unresolved(value):
            return any(type in _PLAIN for type in self.types)
        if isinstance(value, bool) and bool not in self.types:
            return False
        if self.types and not isinstance(value, self.types):
            return False
        return all(hasattr(value, name) for name in self.has)


def check_form(value: Any, form: Form, *path: str | int) -> list[Problem]:
    """Return a problem at `path` when `value` is not of `form`."""
    if form.holds(value):
        return []
    given = "None" if value is None else f"of type {type(value).__name__}"
    return [
        Problem(
            code=form.code,
            message=f"this must be {form.wanted}, and is {given}",
            remedy=form.remedy,
            path=path,
            value=None if form.secret else value,
            allowed=form.wanted,
        )
    ]


def check_forms(values: Mapping[str, Any], forms: Mapping[str, Form]) -> list[Problem]:
    """Return a problem for each of `values` that is not of its form."""
    return [problem for name, value in values.items() for problem in check_form(value, forms[name], name)]


def check_attributes(part: Any, forms: Mapping[str, Form]) -> list[Problem]:
    """Return a problem for each attribute of `part` that is not of its form."""
    return check_forms({name: getattr(part, name) for name in forms}, forms)


def wrong_names(problems: Collection[Problem]) -> frozenset[str]:
    """Return the attributes that `problems` are about."""
    return frozenset(str(problem.path[0]) for problem in problems)


def passing_over(part: Any, names: Collection[str]) -> Any:
    """Return `part` as one in which `names` are not known yet, so that rules judge the rest; itself without any."""
    return _PassingOver(part, names) if names else part


def member_of(choices: type[StrEnum], value: Any) -> Any:
    """Return the member of `choices` that `value` is, or is the text of; `value` where it is none."""
    try:
        return choices(value)
    except ValueError:
        return value


class _PassingOver:
    def __init__(self, part: Any, names: Collection[str]) -> None:
        self._part, self._names = part, names

    def __getattr__(self, name: str) -> Any:
        return _PASSED_OVER if name in self._names else getattr(self._part, name)
