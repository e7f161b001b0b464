"""Checks a ParallelCluster configuration, or the value of one attribute, against ParallelCluster's schema.

Unlike ParallelCluster, it says where a misplaced key belongs, and the likely spelling of a misspelled one. Paths are
ParallelCluster's keys; an item of a list is below its name. CDK tokens and CloudFormation's functions pass. In a
configuration numbers can be text; an attribute (`check_keyed`) must have its own type.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, cast

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.parallelcluster import SECTION, SchemaKey, parallelcluster_schema, places_of, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.schema_sections import check_keys_together
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.values import did_you_mean, nearest

_KINDS = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "map": "a map"}
_TRUE, _FALSE = ("true", "yes", "on", "1", "y", "t"), ("false", "no", "off", "0", "n", "f")
_INTRINSIC = ("Ref", "Fn::")


class WrongTypeError(Exception):
    """The value has another type than its key."""


def is_known_later(value: Any) -> bool:
    """Return whether `value` is a CDK token or an intrinsic function of CloudFormation, which is not checked."""
    if isinstance(value, Mapping):
        names = list(cast("Mapping[str, Any]", value))
        return len(names) == 1 and str(names[0]).startswith(_INTRINSIC)
    return is_unresolved(value)


def check_value(value: Any, key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    """Check `value`, which is neither a section nor a list, against `key`.

    Numbers and booleans can be text, as CloudFormation passes them.
    """
    if is_known_later(value) or key.kind == "any":
        return []
    try:
        read = read_value(value, key.kind)
    except WrongTypeError:
        return [wrong_type(value, key, path, _KINDS[key.kind])]
    return _reported(read, value, key, path)


def wrong_type(value: Any, key: SchemaKey, path: tuple[PathPart, ...], wanted: str) -> Problem:
    """Return the problem that `value` is not `wanted`, the type of `key`."""
    return Problem(
        code=Code.PC_KEY_TYPE,
        message=f"{key.name or 'the configuration'} is not {wanted}",
        remedy=f"write {wanted}" if value is not None else f"write {wanted}, or remove the key",
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


def _reported(read: Any, value: Any, key: SchemaKey, path: tuple[PathPart, ...]) -> list[Problem]:
    """Return what is wrong with a value of the right type: at most one problem, since others would be consequences."""
    if key.one_of and read not in key.one_of:
        names = [str(one) for one in key.one_of]
        offer = did_you_mean(str(value), names, otherwise="write one of the allowed values")
        return [_refused(value, key, path, ", ".join(names), offer)]
    if key.range is not None and not key.range.holds(read):
        return [_refused(value, key, path, key.range.range, "write a number in the range")]
    if isinstance(read, str):
        return _text(read, key, path)
    return []


@rule
def _text(text: str, key: SchemaKey, path: tuple[PathPart, ...]) -> Iterator[Problem]:
    if key.length is not None and not key.many and not key.length.holds(len(text)):
        yield _refused(text, key, path, f"{key.length.range} characters", "write a shorter value")
    elif key.regex is not None and not key.regex.match(text):
        yield _refused(text, key, path, f"text like {key.regex.pattern}", "write it as AWS shows it")


def _refused(value: Any, key: SchemaKey, path: tuple[PathPart, ...], allowed: str, remedy: str) -> Problem:
    return Problem(
        code=Code.PC_KEY_VALUE,
        message=f"this is not a valid value of ParallelCluster's {key.name}",
        remedy=remedy,
        path=path,
        value=value,
        allowed=allowed,
    )


def unknown_key(name: object, section: SchemaKey, path: tuple[PathPart, ...]) -> Problem:
    """Return the problem that `section` has no key `name`, with the likely key, or the section where it belongs."""
    text = str(name)
    here = section.name or "the configuration"
    return Problem(
        code=Code.PC_KEY_UNKNOWN,
        message=f"{here} of ParallelCluster has no key {text}",
        remedy=_remedy(text, section),
        path=(*path, text),
        value=text,
        allowed=", ".join(section.keys),
    )


def _remedy(name: str, section: SchemaKey) -> str:
    offer = nearest(name, section.keys)
    if offer is not None and offer.casefold() == name.casefold():
        return f"write `{offer}`"
    places = [place.replace("[]", "").rpartition("/")[0] for place in places_of(name)]
    where = " or ".join(dict.fromkeys(place or "the top level" for place in places))
    if where and offer is None:
        return f"move it: it belongs below {where}"
    if where:
        return f"write `{offer}`, or move it: it belongs below {where}"
    return f"write `{offer}`" if offer else "remove it, or write one of the allowed keys"


_Path = tuple[PathPart, ...]


def check_configuration(configuration: Mapping[str, Any]) -> list[Problem]:
    """Return all violations of ParallelCluster's schema in a whole `configuration`."""
    return list(_section(configuration, parallelcluster_schema(), (), frozenset()))


def check_section(
    section: Mapping[str, Any], place: str, *, partial: bool = False, partial_below: Collection[str] = ()
) -> list[Problem]:
    """Return violations of the schema in the section at `place`, e.g. `SharedStorage[]/EfsSettings`; paths begin there.

    `partial`: its required keys may be missing, since they are rendered from attributes; `partial_below`: the same for
    sections below it. Raises `KeyError` when the schema has no section at `place`.
    """
    key = schema_at(place)
    if key is None or key.kind != SECTION:
        raise KeyError(place)
    return list(_section(section, key, (), frozenset([*partial_below, *([place] if partial else [])])))


def _section(section: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if not isinstance(section, Mapping):
        if is_known_later(section):
            return
        yield wrong_type(section, key, path, "a section")
        return
    given = cast("Mapping[str, Any]", section)
    if len(given) == 1 and is_known_later(given):
        return
    whole = key.place not in partial
    for name, value in given.items():
        below = key.keys.get(name)
        if below is None:
            yield unknown_key(name, key, path)
        elif below.many:
            yield from _items(value, below, (*path, name), partial)
        else:
            yield from _one(value, below, (*path, name), partial)
    if whole:
        yield from _missing(given, key, path)
    yield from check_keys_together(given, key, path, whole=whole)


def _one(value: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if key.kind == SECTION:
        yield from _section(value, key, path, partial)
    else:
        yield from check_value(value, key, path)


def _items(value: Any, key: SchemaKey, path: _Path, partial: Collection[str]) -> Iterator[Problem]:
    if not isinstance(value, list | tuple):
        if not is_known_later(value):
            yield wrong_type(value, key, path, "a list")
        return
    items = cast("list[Any] | tuple[Any, ...]", value)
    if key.length is not None and not key.length.holds(len(items)) and not any(map(is_known_later, items)):
        yield _number_of_items(len(items), key, path)
    for index, item in enumerate(items):
        yield from _one(item, key, (*path, _called(item, index, key)), partial)


def _called(item: Any, index: int, key: SchemaKey) -> PathPart:
    """The name of an item when it has a readable one, else its index."""
    if key.item_key is None or not isinstance(item, Mapping):
        return index
    name = cast("Mapping[str, Any]", item).get(key.item_key)
    return name if isinstance(name, str) and name and not is_known_later(name) else index


def _missing(section: Mapping[str, Any], key: SchemaKey, path: _Path) -> Iterator[Problem]:
    for name, below in key.keys.items():
        if below.required and name not in section:
            yield Problem(
                code=Code.PC_KEY_MISSING,
                message=f"{key.name or 'the configuration'} has no {name}",
                remedy=f"write {name}",
                path=(*path, name),
            )


def _number_of_items(number: int, key: SchemaKey, path: _Path) -> Problem:
    allowed = key.length.range if key.length is not None else ""
    return Problem(
        code=Code.PC_KEY_VALUE,
        message=f"ParallelCluster's {key.name} does not accept {number} items",
        remedy="write an allowed number of items",
        path=path,
        value=number,
        allowed=allowed,
    )


@rule
def check_plain_values(configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Return each date in `configuration`, which YAML or Python read from what was meant as text.

    The provider fails on a date, and CloudFormation does not support dates: `serialize` in custom_resource/cluster.yaml
    of aws/aws-parallelcluster uses a module that it does not import.
    """
    for path, value in _values(configuration, ()):
        if isinstance(value, date):
            yield Problem(
                code=Code.PC_DATE,
                message="this is a date, but ParallelCluster's configuration supports only text, numbers and booleans",
                value=str(value),
                path=path,
                remedy=f"write it as text: '{value}'",
            )


def _values(value: Any, path: tuple[PathPart, ...]) -> Iterator[tuple[tuple[PathPart, ...], Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _values(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(cast("Sequence[Any]", value)):
            yield from _values(item, (*path, index))
    else:
        yield path, value


_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_WORDS = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}

_Fault = tuple[str, str, str]
"""What is wrong, what is allowed, the fix."""


@rule
def check_keyed(place: str, value: Any, code: Code, *path: PathPart, what: str, remedy: str = "") -> Iterator[Problem]:
    """Return a problem at `path` unless the schema accepts `value` at `place`, e.g. `HeadNode/Networking/SubnetId`.

    `None` and tokens pass. `what` names the value in the message; `remedy` replaces the generated one. For a list,
    the value is an item. Raises `KeyError` when the schema has no such place.
    """
    key = schema_at(place)
    if key is None:
        raise KeyError(place)
    if value is None or is_unresolved(value):
        return
    fault = _fault(key, value)
    if fault is None:
        return
    message, allowed, offer = fault
    yield Problem(
        code=code, message=f"{what} {message}", remedy=remedy or offer, path=path, value=value, allowed=allowed
    )


def _fault(key: SchemaKey, value: Any) -> _Fault | None:
    types = _TYPES.get(key.kind, (object,))
    if not isinstance(value, types) or (isinstance(value, bool) and key.kind in ("int", "float")):
        return f"is not {_WORDS[key.kind]}", _WORDS[key.kind], f"write {_WORDS[key.kind]}"
    if key.one_of and value not in key.one_of:
        return _not_a_choice(key.one_of, value)
    if key.range is not None and not key.range.holds(value):
        return _out_of_range(key.range, value)
    if isinstance(value, str):
        return _text_fault(key, value)
    return None


def _not_a_choice(choices: Sequence[Any], value: Any) -> _Fault:
    allowed = ", ".join(map(str, choices))
    if isinstance(value, str):
        remedy = did_you_mean(value, choices, otherwise="write one of the allowed values")
        return "is not a value that ParallelCluster supports", allowed, remedy
    near = min(choices, key=lambda choice: abs(choice - value))
    return "is unknown", allowed, f"write {near}"


def _out_of_range(limit: Limit, value: float) -> _Fault:
    below = limit.minimum is not None and value < limit.minimum
    bound = limit.minimum if below else limit.maximum
    return f"is {'below' if below else 'above'} {bound}", limit.range, f"write {bound}, or another number in the range"


def _text_fault(key: SchemaKey, text: str) -> _Fault | None:
    if key.length is not None and not key.many and not key.length.holds(len(text)):
        return f"is {len(text)} characters long", f"{key.length.range} characters", "shorten it"
    if key.regex is not None and not key.regex.match(text):
        return (
            "is not in the format that ParallelCluster requires",
            f"text like {key.regex.pattern}",
            "write it as AWS shows it",
        )
    return None
