"""One value against what ParallelCluster's schema says of its key."""

from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.catalog.parallelcluster_schema import SchemaKey
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

_KINDS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "map": "a map"}
_TRUE, _FALSE = ("true", "yes", "on", "1", "y", "t"), ("false", "no", "off", "0", "n", "f")
_INTRINSIC = ("Ref", "Fn::")


class WrongTypeError(Exception):
    """The value is of another type than its key."""


def is_known_later(value: Any) -> bool:
    """Return whether `value` is a CDK token or one of CloudFormation's functions, which nothing can be said of."""
    if isinstance(value, Mapping):
        names = list(cast("Mapping[str, Any]", value))
        return len(names) == 1 and str(names[0]).startswith(_INTRINSIC)
    return is_unresolved(value)


def check_value(value: Any, key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    """Check `value`, which is no section and no list, against `key`.

    Numbers and truth may be written as texts, as CloudFormation hands them over.
    """
    if is_known_later(value) or key.kind == "any":
        return []
    try:
        read = read_value(value, key.kind)
    except WrongTypeError:
        return [wrong_type(value, key, path, _KINDS[key.kind])]
    return _told(read, value, key, path)


def wrong_type(value: Any, key: SchemaKey, path: tuple[PathPart, ...], wanted: str) -> Problem:
    """Return the problem that `value` is not what is `wanted` of `key`."""
    return Problem(
        code=Code.PC_KEY_TYPE,
        message=f"{key.name or 'the configuration'} is not {wanted}",
        remedy=f"write {wanted}" if value is not None else f"write {wanted}, or leave the key out",
        path=path,
        value="nothing" if value is None else value,
        allowed=wanted,
    )


def read_value(value: Any, kind: str) -> Any:
    """Return `value` as the schema reads it for a key of `kind`. Raises `WrongTypeError`."""
    if kind == "str":
        return _checked(value, isinstance(value, str))
    if kind == "map":
        return _checked(value, isinstance(value, Mapping))
    if kind == "bool":
        return _truth(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise WrongTypeError
    return _number(value, kind)


def _checked(value: Any, good: bool) -> Any:
    if not good:
        raise WrongTypeError
    return value


def _truth(value: Any) -> bool:
    text = str(value).lower()
    if isinstance(value, bool | int | str) and text in (*_TRUE, *_FALSE):
        return text in _TRUE
    raise WrongTypeError


def _number(value: float | str, kind: str) -> float:
    try:
        number = float(value)
        if kind == "int" and number != int(number):
            raise WrongTypeError
    except (ValueError, OverflowError):
        raise WrongTypeError from None
    return int(number) if kind == "int" else number


def _told(read: Any, value: Any, key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    """What is wrong with a value of the right type; at most one thing, for the others would follow from it."""
    if key.one_of and read not in key.one_of:
        names = [str(one) for one in key.one_of]
        offer = did_you_mean(str(value), names, otherwise="write one of the allowed")
        return [_refused(value, key, path, ", ".join(names), offer)]
    if key.range is not None and not key.range.holds(read):
        return [_refused(value, key, path, key.range.range, "write a number in the range")]
    if isinstance(read, str):
        return _text(read, key, path)
    return []


def _text(text: str, key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    if key.length is not None and not key.many and not key.length.holds(len(text)):
        return [_refused(text, key, path, f"{key.length.range} characters", "write a shorter one")]
    if key.regex is not None and not key.regex.match(text):
        return [_refused(text, key, path, f"text like {key.regex.pattern}", "write it as AWS shows it")]
    return []


def _refused(value: Any, key: SchemaKey, path: tuple[PathPart, ...], allowed: str, remedy: str) -> Problem:
    return Problem(
        code=Code.PC_KEY_VALUE,
        message=f"ParallelCluster's {key.name} does not take this value",
        remedy=remedy,
        path=path,
        value=value,
        allowed=allowed,
    )
