"""Values that only exist while a template is evaluated, and the error of a template that cannot be.

Source: model cfn-lint schemas/other/functions
"""

from collections.abc import Mapping
from typing import Any, Final, cast


class TemplateError(Exception):
    """The template cannot be deployed as written; the message is what the user reads."""


class Marker:
    """A value that is none: two exist, `NO_VALUE` and `UNKNOWN`."""

    def __init__(self, text: str) -> None:
        """Take the text shown in a change set."""
        self._text = text

    def __repr__(self) -> str:
        return self._text


NO_VALUE: Final = Marker("AWS::NoValue")
"""The member that holds it is left out."""

UNKNOWN: Final = Marker("{{changeSet:KNOWN_AFTER_APPLY}}")
"""Replaces, in a change set, a value that exists only after a resource is created or changed."""


def contains_unknown(value: Any) -> bool:
    """Return whether `UNKNOWN` is anywhere in `value`."""
    if isinstance(value, Mapping):
        return any(contains_unknown(item) for item in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(contains_unknown(item) for item in cast("list[Any]", value))
    return value is UNKNOWN


def as_text(value: Any) -> str:
    """Write a scalar as CloudFormation does when it joins it into a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def function_of(value: Any) -> str | None:
    """Return the name of the intrinsic function that `value` calls, `None` when it is plain data."""
    if not isinstance(value, Mapping) or len(cast("Mapping[Any, Any]", value)) != 1:
        return None
    name = str(next(iter(cast("Mapping[Any, Any]", value))))
    return name if name == "Ref" or name.startswith("Fn::") else None
