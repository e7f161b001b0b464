"""Data files are read into the types that the catalog declares; errors name file and key."""

import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from inspect import signature
from typing import Annotated, Any, Literal

import pytest

from llm_fleet import catalog
from llm_fleet.catalog.data_file import KEY, Limit, reader, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part with its own key as a field."""

    name: Annotated[str, KEY]
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One field of each type."""

    text: str
    share: float = 0.5
    kind: Literal["gpu", "neuron"] | None = None
    value: int | bool | None = None
    since: date | None = None
    form: re.Pattern[str] | None = None
    limit: Limit | None = None
    pair: tuple[int, int] = (0, 0)
    words: frozenset[str] = frozenset()
    parts: Mapping[str, Part] | None = None
    rest: Any = None


VALID = [
    ("share", 1, 1),
    ("kind", "gpu", "gpu"),
    ("value", True, True),
    ("value", 7, 7),
    ("since", "2026-01-02", date(2026, 1, 2)),
    ("form", "a+", re.compile("a+")),
    ("limit", {"minimum": 1}, Limit(minimum=1)),
    ("pair", [1, 2], (1, 2)),
    ("words", ["a", "b"], frozenset({"a", "b"})),
    ("parts", {"one": {"size": 3}}, {"one": Part(name="one", size=3)}),
    ("rest", [{"a": 1}], [{"a": 1}]),
    *((name, None, None) for name in ("kind", "value", "since", "form", "parts")),
]


@pytest.mark.parametrize(("field", "data", "value"), VALID)
def test_data_is_read_into_the_type_of_its_field(field: str, data: Any, value: Any) -> None:
    assert getattr(typed(Whole, {"text": "x", field: data}, "whole.json"), field) == value


INVALID: list[tuple[dict[str, Any], str]] = [
    ({}, "whole.json: Whole is missing ['text'] and has no field for []"),
    ({"text": "x", "more": 1}, "whole.json: Whole is missing [] and has no field for ['more']"),
    ({"text": 1}, "whole.json/text: must be str, but is 1"),
    ({"text": "x", "share": True}, "whole.json/share: must be int or float, but is True"),
    ({"text": "x", "kind": "cpu"}, "whole.json/kind: must be one of gpu, neuron, but is 'cpu'"),
    ({"text": "x", "since": "today"}, "whole.json/since: 'today': Invalid isoformat string: 'today'"),
    ({"text": "x", "form": "("}, "whole.json/form: '(': missing ), unterminated subpattern at position 0"),
    ({"text": "x", "limit": {"min": 1}}, "whole.json/limit: Limit is missing [] and has no field for ['min']"),
    ({"text": "x", "pair": [1]}, "whole.json/pair: must have 2 items, but is [1]"),
    ({"text": "x", "pair": [1, "2"]}, "whole.json/pair/1: must be int, but is '2'"),
    ({"text": "x", "words": "a"}, "whole.json/words: must be list, but is 'a'"),
    ({"text": "x", "parts": {"one": {"size": None}}}, "whole.json/parts/one/size: must be int, but is None"),
    ({"text": "x", "parts": {"one": {"name": "two"}}}, "whole.json/parts/one: Part is missing [] and has no field for"),
]


@pytest.mark.parametrize(("data", "message"), INVALID)
def test_invalid_data_is_reported_with_its_key(data: Any, message: str) -> None:
    with pytest.raises(TypeError, match="catalog/data/" + re.escape(message)):
        typed(Whole, data, "whole.json")


def test_a_file_is_read_once_and_a_missing_key_is_reported() -> None:
    read = reader(Limit, "endpoint_settings", "name")
    assert read() is read() == Limit(maximum=63, pattern=read().pattern)
    with pytest.raises(TypeError, match=r"endpoint_settings.json has no name/length"):
        reader(int, "endpoint_settings", "name", "length")()


def test_every_data_file_matches_its_type() -> None:
    """Calls all functions of the catalog without parameters; invalid data raises an error with its file and key."""
    modules = [import_module(info.name) for info in pkgutil.iter_modules(catalog.__path__, f"{catalog.__name__}.")]
    getters = {value for module in modules for value in vars(module).values() if hasattr(value, "cache_info")}
    without_parameters = [each for each in getters if not signature(each).parameters]
    assert len(without_parameters) > 100
    assert all(each() is not None for each in without_parameters)
