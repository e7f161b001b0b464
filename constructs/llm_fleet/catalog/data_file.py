"""Reads the catalog's data files: as parsed JSON (`load`), or as frozen objects of a type (`reader`).

    @dataclass(frozen=True, slots=True, kw_only=True)
    class RolloutFacts:
        bake_seconds: Limit
        step_percent: Mapping[str, Limit]

    rollout_facts = reader(RolloutFacts, "endpoint_operations", "rollout")

`rollout_facts()` reads the key `rollout` of `data/endpoint_operations.json` when it is first called.
`every_data_file` and `loaded_data_files` return what the files are about, their sources and dates.
The module also has types that several data files share: bounds of a value, steps of capacity, cron fields.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

_T = TypeVar("_T")
KEY = "key"
"""Metadata of the field of a dataclass that holds its own key in the mapping: `Annotated[str, KEY]`."""
_LEAVES: Mapping[Any, tuple[tuple[type, ...], Callable[[Any], Any] | None]] = {
    **{kind: ((kind,), None) for kind in (str, int, bool, NoneType)},
    float: ((int, float), None),
    date: ((str,), date.fromisoformat),
    re.Pattern: ((str,), re.compile),
}
"""Accepted JSON types for a type, and the conversion; an `int` stays an `int` where the type is `float`."""


_DATA = files("llm_fleet.catalog").joinpath("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """What a data file is about, without its facts."""

    name: str
    """Its path below `catalog/data`, without `.json`."""
    what: str
    source: str
    """Where the facts come from."""
    checked: date | None
    """The day on which the facts were compared with their source. `None` for facts that are generated from this
    package's own code: the tests compare them in every run, so they do not age."""

    def age_days(self, today: date) -> int | None:
        """Return the days from `checked` to `today`; `None` for facts that do not age."""
        return None if self.checked is None else (today - self.checked).days


_loaded: dict[str, DataFile] = {}


@cache
def load(name: str) -> Any:
    """Return the `facts` of `catalog/data/<name>.json`, parsed once in each process.

    Every data file is an object with the fields of `DataFile` and `facts`. JSON, not YAML, because every synth parses
    the files.
    """
    document = _document(name)
    _loaded[name] = _data_file(name, document)
    return document["facts"]


def loaded_data_files() -> tuple[DataFile, ...]:
    """Return the data files whose facts this process has read until now."""
    return tuple(_loaded.values())


def every_data_file() -> tuple[DataFile, ...]:
    """Return all data files, by name. Reads all of them."""
    return tuple(_data_file(name, _document(name)) for name in sorted(_names(_DATA)))


def data_files(folder: str) -> tuple[str, ...]:
    """Return the names of the data files in `catalog/data/<folder>`, in alphabetical order."""
    return tuple(sorted(_names(_DATA.joinpath(folder), f"{folder}/")))


def _names(folder: Any, prefix: str = "") -> Iterator[str]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _names(one, f"{prefix}{one.name}/")
        elif one.name.endswith(".json"):
            yield prefix + one.name.removesuffix(".json")


def _document(name: str) -> dict[str, Any]:
    return json.loads(_DATA.joinpath(f"{name}.json").read_text(encoding="utf-8"))


def _data_file(name: str, document: Mapping[str, Any]) -> DataFile:
    checked: str | None = document["checked"]
    day = None if checked is None else date.fromisoformat(checked)
    return DataFile(name=name, what=document["what"], source=document["source"], checked=day)


def reader(of: type[_T], name: str, *keys: str) -> Callable[[], _T]:
    """Return a function that returns the value at `keys` in the data file `name` as an `of`; read once in each process.

    The function raises `TypeError` with file and key for data that is not of this type.
    """

    @cache
    def read() -> _T:
        value = load(name)
        for key in keys:
            if key not in value:
                raise TypeError(f"catalog/data/{name}.json has no {'/'.join(keys)}")
            value = value[key]
        return typed(of, value, "/".join((f"{name}.json", *keys)))

    return read


def typed(of: type[_T], value: Any, where: str, /, **given: Any) -> _T:
    """Return `value`, which was read at `where` in the data files, as an `of`.

    An object becomes a dataclass, with additional fields from `given`, which the object must not have. Lists become
    tuples or frozen sets, objects read-only mappings, and strings patterns or dates, depending on the type.
    Raises `TypeError` for data that is not of this type, and for unknown keys of a dataclass.
    """
    try:
        return _conversion(of)(value, **given)
    except _MisfitError as error:
        raise TypeError(f"catalog/data/{'/'.join((where, *reversed(error.path)))}: {error}") from None


class _MisfitError(Exception):
    """A value does not match its type. `path` begins with the innermost key."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str] = []


@cache
def _conversion(of: Any) -> Callable[..., Any]:
    """Return the function that converts a JSON value to an `of`."""
    origin, inner = get_origin(of) or of, get_args(of)
    if origin is Any:
        return _as_it_is
    if origin is Annotated:
        return _conversion(inner[0])
    if origin in (UnionType, Union):
        return _one_of(inner)
    if origin is Literal:
        return _choice(inner)
    if origin in (tuple, frozenset):
        return _list(origin, inner)
    if origin in _LEAVES:
        return _leaf(origin)
    return _dataclass(origin) if is_dataclass(origin) else _mapping(inner[1])


def _as_it_is(value: Any) -> Any:
    return value


def _leaf(of: Any) -> Callable[[Any], Any]:
    accepted, convert = _LEAVES[of]

    def read(value: Any) -> Any:
        checked = _checked(value, *accepted)
        try:
            return checked if convert is None else convert(checked)
        except (ValueError, re.error) as error:
            raise _MisfitError(f"{checked!r}: {error}") from None

    return read


def _choice(words: tuple[Any, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in words:
            raise _MisfitError(f"must be one of {', '.join(map(str, words))}, but is {value!r}")
        return value

    return read


def _one_of(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return the conversion for a union; at most one member is not a plain JSON type."""
    leaves: dict[Any, Any] = {
        accepted: kind for kind in reversed(kinds) if kind in _LEAVES for accepted in _LEAVES[kind][0]
    }
    other = next((kind for kind in kinds if kind not in _LEAVES), kinds[0])

    def read(value: Any) -> Any:
        return _conversion(leaves.get(type(value), other))(value)

    return read


def _list(of: Callable[[list[Any]], Any], kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    alike = kinds[-1] is Ellipsis or of is frozenset
    conversions = [_conversion(kind) for kind in kinds if kind is not Ellipsis]

    def read(value: Any) -> Any:
        items: list[Any] = _checked(value, list)
        if not alike and len(items) != len(conversions):
            raise _MisfitError(f"must have {len(conversions)} items, but is {items}")
        each = conversions * len(items) if alike else conversions
        return of([_at(str(place), each[place], item) for place, item in enumerate(items)])

    return read


def _mapping(kind: Any) -> Callable[[Any], Any]:
    conversion = _conversion(kind)
    held = [each.name for each in fields(kind) if KEY in get_args(each.type)[1:]] if is_dataclass(kind) else []

    def read(value: Any) -> Any:
        items: dict[str, Any] = _checked(value, dict)
        return MappingProxyType(
            {key: _at(key, conversion, item, **dict.fromkeys(held, key)) for key, item in items.items()}
        )

    return read


def _dataclass(of: Any) -> Callable[..., Any]:
    conversions = {each.name: _conversion(each.type) for each in fields(of)}
    needed = [each.name for each in fields(of) if each.default is MISSING and each.default_factory is MISSING]

    def read(value: Any, /, **given: Any) -> Any:
        facts: dict[str, Any] = _checked(value, dict)
        strange = [key for key in facts if key not in conversions or key in given]
        missing = [name for name in needed if name not in facts and name not in given]
        if strange or missing:
            raise _MisfitError(f"{of.__name__} is missing {missing} and has no field for {strange}")
        return of(**{key: _at(key, conversions[key], item) for key, item in facts.items()}, **given)

    return read


def _checked(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise _MisfitError(f"must be {' or '.join(kind.__name__ for kind in kinds)}, but is {value!r}")
    return value


def _at(key: str, conversion: Callable[..., Any], item: Any, /, **given: Any) -> Any:
    """Return the converted `item`, which is at `key` of its parent."""
    try:
        return conversion(item, **given)
    except _MisfitError as error:
        error.path.append(key)
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Bounds of a number or of the length of a string or list, and the pattern of a string. `None`: no bound."""

    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    source: str = ""
    """Where the bounds are from, for messages. Default: the message says it."""

    def holds(self, size: int) -> bool:
        """Return whether `size` is within the bounds."""
        return (self.minimum is None or size >= self.minimum) and (self.maximum is None or size <= self.maximum)

    def matches(self, text: str) -> bool:
        """Return whether all of `text` matches the pattern; its length is not checked."""
        return self.pattern is None or re.fullmatch(self.pattern, text) is not None

    def fits(self, text: str) -> bool:
        """Return whether `text` matches the pattern and its length is within the bounds."""
        return self.matches(text) and self.holds(len(text))

    @property
    def range(self) -> str:
        """The bounds as messages show them, e.g. `1 to 63`."""
        return self.range_in(str)

    def range_in(self, text: Callable[[int], str]) -> str:
        """Return the bounds as messages show them, each number as `text` writes it, e.g. `1 s to 28 days`."""
        if self.minimum is not None and self.maximum is not None:
            return f"{text(self.minimum)} to {text(self.maximum)}"
        if self.maximum is not None:
            return f"up to {text(self.maximum)}"
        return f"{text(self.minimum)} or more" if self.minimum is not None else "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Allowed amounts; the unit is defined where the steps are used."""

    single: tuple[int, ...] = ()
    """Allowed amounts that are not multiples of the step, in ascending order."""
    step: int | None = None
    """Its multiples are allowed from `smallest_multiple` on; `None` where only the single amounts are allowed."""
    most: int | None = None
    """The largest amount; `None` where no source has a maximum."""

    @property
    def smallest(self) -> int:
        """The smallest allowed amount."""
        amounts = (*self.single, *((self.step,) if self.step else ()))
        return min(amounts)

    def accepts(self, amount: int) -> bool:
        """Return whether `amount` is allowed."""
        if amount in self.single:
            return True
        if self.step is None or amount <= 0 or amount > (self.most or amount):
            return False
        return amount % self.step == 0

    def nearest(self, amount: int) -> tuple[int | None, int | None]:
        """Return the next allowed amounts below and above `amount`; `None` where there is none."""
        around = set(self.single)
        if self.step:
            below = amount // self.step * self.step
            around |= {below - self.step, below, below + self.step, *((self.most,) if self.most else ())}
        offered = sorted(a for a in around if self.accepts(a))
        below = [a for a in offered if a < amount]
        above = [a for a in offered if a > amount]
        return (below[-1] if below else None), (above[0] if above else None)

    def describe(self, unit: str) -> str:
        """Return the allowed amounts as text, e.g. `1200 GiB and multiples of 2400 GiB`."""
        if self.step is None:
            return f"{', '.join(map(str, self.single))} {unit}"
        multiples = f"multiples of {self.step} {unit}" + (f" up to {self.most} {unit}" if self.most else "")
        return f"{', '.join(map(str, self.single))} {unit} and {multiples}" if self.single else multiples


@dataclass(frozen=True, slots=True, kw_only=True)
class CronField:
    """Allowed values of a cron field: numbers in a range, or names for them."""

    name: Annotated[str, KEY]
    minimum: int
    maximum: int
    names: tuple[str, ...] = ()
    """Names of the numbers from `minimum` on; empty for a field without names."""

    def number(self, text: str) -> int | None:
        """Return `text` as a number, or `None` when the field does not allow it."""
        if text.upper() in self.names:
            return self.minimum + self.names.index(text.upper())
        if not (text.isascii() and text.isdigit()):
            return None
        return int(text) if self.minimum <= int(text) <= self.maximum else None
