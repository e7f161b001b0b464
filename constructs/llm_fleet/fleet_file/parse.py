"""Reads the text of a fleet file: YAML without its traps.

It works on the parser's events, not on PyYAML's objects. So an alias is refused where it stands and never expanded, a
tag never makes an object, depth is bounded, a duplicate key is seen, and each key's line is known.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import yaml

from llm_fleet.fleet_file.document import Document, YamlPath
from llm_fleet.fleet_file.located import locate
from llm_fleet.fleet_file.syntax_error import syntax_error
from llm_fleet.fleet_file.yaml_scalars import plain_scalar
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEPTH = 24
"""Three times as deep as the deepest key of a fleet file."""
_TOKEN = re.compile(r"[$#]\{Token\[")
"""As the CDK writes a value that is known only later."""


_START = "begin with `fleet:` and a name; `examples/hyperpod-trn1.yaml` is one to start from"


class _Refusal(Exception):
    """Reading cannot go on; holds the problem and its line and column."""

    def __init__(self, problem: Problem, mark: yaml.Mark) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.mark = mark


class _Reader:
    """Builds plain values from the events of one document."""

    def __init__(self, text: str, noun: str) -> None:
        self._noun = noun
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self.places: dict[YamlPath, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self.empty = True

    def document(self) -> Any:
        """Return what the only document holds; `None` when there is none."""
        value: Any = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if not self.empty:
                    raise _refusal(f"a {self._noun} is one document", "remove this `---` and what follows it", event)
                self.empty = False
                value = self._value(next(self._events), ())
        return value

    def _value(self, event: Any, path: YamlPath) -> Any:
        if len(path) > _DEPTH:
            problem = Problem(
                code=Code.YAML_DEPTH,
                message=f"this is nested more than {_DEPTH} levels deep",
                remedy="look at the brackets and the indentation",
            )
            raise _Refusal(problem, event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise _refusal(f"a {self._noun} has no aliases", f"write what `*{event.anchor}` stands for", event)
        if event.anchor is not None:
            raise _refusal(f"a {self._noun} has no anchors", f"remove `&{event.anchor}`", event)
        if event.tag is not None:
            raise _refusal(
                f"a {self._noun} has no tags", f"remove `{event.tag.replace('tag:yaml.org,2002:', '!!')}`", event
            )
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        self._refuse_token(event)
        return event.value if event.style else plain_scalar(event.value)

    def _sequence(self, path: YamlPath) -> list[Any]:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            at = (*path, len(items))
            self._mark(at, event)
            value = self._value(event, at)
            if value is None or value == "":
                self._empty(at)
            items.append(value)
        return items

    def _mapping(self, path: YamlPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event)
            at = (*path, key)
            twice = key in entries or at in self.places
            if twice:
                self._duplicate(at, event)
            else:
                self._mark(at, event)
            if twice:
                self._pass_over(at)
                continue
            value = self._value(next(self._events), at)
            if value is None or (value == "" and "tags" not in at):
                self._empty(at)
            else:
                entries[key] = value
        return entries

    def _pass_over(self, path: YamlPath) -> None:
        """Read the value of a key that was there already, without a word about what is in it: it is read once."""
        places, problems = self.places, self.problems
        self.places, self.problems = {}, []
        self._value(next(self._events), path)
        self.places, self.problems = places, problems

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
            raise _refusal("a key is plain text", "write a word in front of the colon", event)
        if event.value == "<<" and not event.style:
            raise _refusal(f"a {self._noun} has no merge keys", "write out what `<<` stands for", event)
        self._refuse_token(event)
        return event.value

    def _refuse_token(self, event: Any) -> None:
        """Every rule passes over a token, and the CDK cannot resolve one that it has not made."""
        if _TOKEN.search(event.value):
            raise _refusal(f"a {self._noun} has no tokens of the CDK", "write the value itself, or use Python", event)

    def _mark(self, path: YamlPath, event: Any) -> None:
        self.places[path] = (event.start_mark.line + 1, event.start_mark.column + 1)

    def _duplicate(self, path: YamlPath, event: Any) -> None:
        first = self.places[path][0]
        second = event.start_mark.line + 1
        self.problems.append(
            Problem(
                code=Code.DUPLICATE_KEY,
                message=f"{path[-1]!r} is written twice, "
                + (f"both in line {first}" if first == second else f"in line {first} and in line {second}"),
                remedy="keep one of the two",
                path=path,
            )
        )

    def _empty(self, path: YamlPath) -> None:
        self.problems.append(
            Problem(
                code=Code.EMPTY_VALUE,
                message="there is no value here",
                remedy="write a value, or remove the key to get its default; `{}` is a mapping with all defaults",
                path=path,
            )
        )


def parse(text: str, *, subject: str, noun: str = "fleet file") -> Document:
    """Return what `text` holds; raise `FleetError` (LF104 to LF109) when it holds no mapping at all.

    `noun`: what it should be, for messages.
    """
    reader = _Reader(text, noun)
    try:
        data = reader.document()
    except _Refusal as refusal:
        place = locate(refusal.problem, refusal.mark.line + 1, refusal.mark.column + 1)
        raise FleetError([place], subject=subject) from None
    except yaml.YAMLError as error:
        raise syntax_error(error, text, subject=subject) from None
    if isinstance(data, dict):
        return Document(data=cast(dict[str, Any], data), places=reader.places, problems=reader.problems)
    raise FleetError([locate(_no_mapping(data), 1, 1)], subject=subject)


def _no_mapping(data: Any) -> Problem:
    if data is None:
        return Problem(code=Code.FILE_EMPTY, message="the file holds nothing", remedy=_START)
    message = "a fleet file is a mapping of keys to values"
    return Problem(code=Code.FILE_NOT_A_MAPPING, message=message, remedy=_START, value=data)


def _refusal(message: str, remedy: str, event: Any) -> _Refusal:
    return _Refusal(Problem(code=Code.YAML_FEATURE, message=message, remedy=remedy), event.start_mark)
