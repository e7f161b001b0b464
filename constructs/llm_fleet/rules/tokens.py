"""Tells CDK tokens from plain values, without importing the CDK."""

from typing import Any

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
