"""Special values during the evaluation of a template, and the error for invalid templates.

Source: model cfn-lint schemas/other/functions
"""

from collections.abc import Mapping
from typing import Any, Final, cast


class TemplateError(Exception):
    """The template cannot be deployed; the message is for the user."""


class Marker:
    """A special value: there are two, `NO_VALUE` and `UNKNOWN`."""

    def __init__(self, text: str) -> None:
        """Set the text that a change set shows."""
        self._text = text

    def __repr__(self) -> str:
        return self._text


NO_VALUE: Final = Marker("AWS::NoValue")
"""A member with this value is omitted."""

UNKNOWN: Final = Marker("{{changeSet:KNOWN_AFTER_APPLY}}")
"""In a change set: a value that exists only after a resource is created or changed."""


def contains_unknown(value: Any) -> bool:
    """Return whether `UNKNOWN` is anywhere in `value`."""
    if isinstance(value, Mapping):
        return any(contains_unknown(item) for item in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(contains_unknown(item) for item in cast("list[Any]", value))
    return value is UNKNOWN


def as_text(value: Any) -> str:
    """Return a scalar as the text that CloudFormation inserts into a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def function_of(value: Any) -> str | None:
    """Return the name of the intrinsic function in `value`, `None` for plain data."""
    if not isinstance(value, Mapping) or len(cast("Mapping[Any, Any]", value)) != 1:
        return None
    name = str(next(iter(cast("Mapping[Any, Any]", value))))
    return name if name == "Ref" or name.startswith("Fn::") else None
