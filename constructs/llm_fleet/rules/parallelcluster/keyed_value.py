"""The value of an attribute against what ParallelCluster's schema says of its key: type, choice, range and pattern.

`schema_value` does the like for configurations, where numbers may be texts; an attribute is of its own type.
"""

from collections.abc import Sequence
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.parallelcluster_schema import SchemaKey, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_WORDS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"}

_Fault = tuple[str, str, str]
"""What is wrong, what is allowed, what to do."""


def check_keyed(place: str, value: Any, code: Code, *path: PathPart, what: str, remedy: str = "") -> list[Problem]:
    """Return a problem at `path` unless the schema takes `value` at `place`, e.g. `HeadNode/Networking/SubnetId`.

    `None` and tokens pass. `what` names the value in the message; `remedy` replaces the one worked out. Of a list the
    value is an item. Raises `KeyError` where the schema has no such place.
    """
    key = schema_at(place)
    if key is None:
        raise KeyError(place)
    if value is None or is_unresolved(value):
        return []
    fault = _fault(key, value)
    if fault is None:
        return []
    message, allowed, offer = fault
    return [
        Problem(code=code, message=f"{what} {message}", remedy=remedy or offer, path=path, value=value, allowed=allowed)
    ]


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
        return "is no word of ParallelCluster's", allowed, did_you_mean(value, choices, otherwise="write one of them")
    near = min(choices, key=lambda choice: abs(choice - value))
    return "is none of those there are", allowed, f"write {near}"


def _out_of_range(limit: Limit, value: float) -> _Fault:
    below = limit.minimum is not None and value < limit.minimum
    bound = limit.minimum if below else limit.maximum
    return f"is {'below' if below else 'above'} {bound}", limit.range, f"write {bound}, or another number in the range"


def _text_fault(key: SchemaKey, text: str) -> _Fault | None:
    if key.length is not None and not key.many and not key.length.holds(len(text)):
        return f"is {len(text)} characters long", f"{key.length.range} characters", "shorten it"
    if key.regex is not None and not key.regex.match(text):
        return (
            "has not the form that ParallelCluster asks",
            f"text like {key.regex.pattern}",
            "write it as AWS shows it",
        )
    return None
