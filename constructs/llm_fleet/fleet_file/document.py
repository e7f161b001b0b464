"""Reads the text of a fleet file: YAML without its pitfalls, with the line of each key.

It uses the parser's events, not PyYAML's objects. So aliases are rejected and never expanded, tags never create
objects, the depth is limited, duplicate keys are detected, and each key's line is available.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, PathPart, Problem
from llm_fleet.rules.values import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedProblem(Problem):
    """A `Problem` of a file, with line and column for editors."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""

    def __str__(self) -> str:
        first, *rest = Problem.__str__(self).split("\n")
        return "\n".join([f"{first}  line {self.line}", *rest])


def locate(problem: Problem, line: int, column: int) -> LocatedProblem:
    """Return `problem` with its place in the file."""
    return LocatedProblem(
        code=problem.code,
        message=problem.message,
        remedy=problem.remedy,
        path=problem.path,
        value=problem.value,
        allowed=problem.allowed,
        line=line,
        column=column,
    )


YamlPath = tuple[PathPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The plain values of a fleet file."""

    data: dict[str, Any]
    places: Mapping[YamlPath, tuple[int, int]]
    """Line and column, both from 1, of each key and list item."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Errors in values that the reader had to leave out."""

    def value_at(self, path: tuple[PathPart, ...]) -> Any:
        """Return the value at `path`, in keys, as it is written in the file; `None` if there is none."""
        value: Any = self.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def locate(self, problem: Problem) -> LocatedProblem:
        """Return `problem` with its line: that of its own path, or of the nearest parent."""
        path = problem.path
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return locate(problem, line, column)


SIZE_LIMIT = 1024 * 1024
"""Bytes. A fleet of 100 groups with everything set is a tenth of it."""

_EXAMPLES = {"fleet file": "; `examples/hyperpod-trn1.yaml` is one to start from"}
_SUFFIXES = {"fleet file": (".yaml", ".yml"), "request": (".json",)}


def read_text(path: Path, *, noun: str = "fleet file") -> str:
    """Return the text of the file at `path`; raise `FleetError` (LF101 to LF103) if it cannot be read.

    The size is checked before reading, and only regular files are opened, so that neither a huge file nor a pipe can
    block the synthesis.
    """
    _refuse_before_opening(path, noun)
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise _unreadable(path, noun, error) from None
    if len(content) > SIZE_LIMIT:
        raise _too_large(path, noun, f"more than {SIZE_LIMIT:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the byte at position {error.start} is not UTF-8"
        raise _error(path, Code.FILE_NOT_TEXT, message, "save the file as UTF-8 text") from None


def _refuse_before_opening(path: Path, noun: str) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise _error(path, Code.FILE_UNREADABLE, "this file does not exist", _near(path, noun)) from None
    except OSError as error:
        raise _unreadable(path, noun, error) from None
    except ValueError:  # A null character in the name.
        raise _error(path, Code.FILE_UNREADABLE, "this is not a valid file name", _instead(noun)) from None
    if path.is_dir():
        raise _error(path, Code.FILE_UNREADABLE, f"this is a directory, not a {noun}", _inside(path, noun))
    if not path.is_file():
        raise _error(path, Code.FILE_UNREADABLE, f"this is not a regular file, so it is not a {noun}", _instead(noun))
    if size > SIZE_LIMIT:
        raise _too_large(path, noun, f"{size:,}")


def _too_large(path: Path, noun: str, size: str) -> FleetError:
    message = f"the file has {size} bytes; a {noun} can have at most {SIZE_LIMIT:,}"
    return _error(path, Code.FILE_TOO_LARGE, message, "check that this is the right file")


def _unreadable(path: Path, noun: str, error: OSError) -> FleetError:
    reason = (error.strerror or type(error).__name__).lower()
    return _error(path, Code.FILE_UNREADABLE, f"the file cannot be read: {reason}", _instead(noun))


def _error(path: Path, code: Code, message: str, remedy: str) -> FleetError:
    return FleetError([Problem(code=code, message=message, remedy=remedy)], subject=str(path))


def _near(path: Path, noun: str) -> str:
    """Suggest a file with a similar name."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return _instead(noun)
    offer = nearest(path.name, names)
    return f"did you mean `{path.with_name(offer)}`?" if offer else _instead(noun)


def _inside(path: Path, noun: str) -> str:
    """Suggest a file of the right kind in a directory."""
    try:
        found = sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES.get(noun, ()))
    except OSError:
        return _instead(noun)
    return f"did you mean `{found[0]}`?" if found else _instead(noun)


def _instead(noun: str) -> str:
    return f"write the path of a {noun}{_EXAMPLES.get(noun, '')}"


_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(r"[0-9]{3}(\.[0-9]+)?( *[A-Za-z/]+)?")
"""A key that is the end of a number with a comma: `2,400 GiB` in a flow mapping is `2` and the key `400 GiB`."""
_DIGITS = 18
"""More digits than any number of a fleet has; a longer number stays text and is reported as text."""


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Return the value of `text`, written without quotes."""
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _DIGITS and _INTEGER.fullmatch(text):
        return int(text)
    if len(text) <= _DIGITS and _NUMBER.fullmatch(text):
        return _finite(float(text), text)
    return text


def _finite(number: float, text: str) -> float | str:
    return number if abs(number) != float("inf") else text


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEPTH = 24
"""Three times the depth of the deepest key of a fleet file."""
_TOKEN = re.compile(r"[$#]\{Token\[")
"""The CDK's format of a value that is resolved at deployment."""


_START = "begin with `fleet:` and a name; `examples/hyperpod-trn1.yaml` is one to start from"


class _Refusal(Exception):
    """Reading cannot continue; contains the problem with its line and column."""

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
        """Return the value of the only document; `None` if there is none."""
        value: Any = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if not self.empty:
                    raise _refusal(
                        f"a {self._noun} has only one document", "remove this `---` and what follows it", event
                    )
                self.empty = False
                value = self._value(next(self._events), ())
        return value

    def _value(self, event: Any, path: YamlPath) -> Any:
        if len(path) > _DEPTH:
            problem = Problem(
                code=Code.YAML_DEPTH,
                message=f"this is nested more than {_DEPTH} levels deep",
                remedy="check the brackets and the indentation",
            )
            raise _Refusal(problem, event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise _refusal(f"a {self._noun} cannot have YAML aliases", f"write the value of `*{event.anchor}`", event)
        if event.anchor is not None:
            raise _refusal(f"a {self._noun} cannot have YAML anchors", f"remove `&{event.anchor}`", event)
        if event.tag is not None:
            raise _refusal(
                f"a {self._noun} cannot have YAML tags",
                f"remove `{event.tag.replace('tag:yaml.org,2002:', '!!')}`",
                event,
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
        number = ("", "")  # The entry before, if it is a number, as the user wrote it.
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
            if value is None and number[1] and _THOUSANDS.fullmatch(key):
                number = (number[0], f"{number[1]},{key}")
                entries.pop(number[0], None)
                self._separator((*path, number[0]), number[1])
                continue
            number = (key, str(value)) if type(value) is int else ("", "")
            if value is None or (value == "" and "tags" not in at):
                self._empty(at)
            else:
                entries[key] = value
        return entries

    def _separator(self, path: YamlPath, written: str) -> None:
        """Report a number of a flow mapping that a comma has divided into a value and a key."""
        self.problems = [each for each in self.problems if each.path != path]
        self.problems.append(
            Problem(
                code=Code.QUANTITY,
                message="a number cannot have a comma: in braces it begins the next key",
                remedy=f"write numbers without a thousands separator: `{written.replace(',', '')}`",
                path=path,
                value=written,
            )
        )

    def _pass_over(self, path: YamlPath) -> None:
        """Skip the value of a duplicate key, without reporting errors in it: only the first value is used."""
        places, problems = self.places, self.problems
        self.places, self.problems = {}, []
        self._value(next(self._events), path)
        self.places, self.problems = places, problems

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
            raise _refusal("a key must be plain text", "write a word before the colon", event)
        if event.value == "<<" and not event.style:
            raise _refusal(f"a {self._noun} cannot have YAML merge keys", "write the keys of `<<`", event)
        self._refuse_token(event)
        return event.value

    def _refuse_token(self, event: Any) -> None:
        """Every rule skips tokens, and the CDK cannot resolve a token that it has not created."""
        if _TOKEN.search(event.value):
            raise _refusal(f"a {self._noun} cannot have CDK tokens", "write the value itself, or use Python", event)

    def _mark(self, path: YamlPath, event: Any) -> None:
        self.places[path] = (event.start_mark.line + 1, event.start_mark.column + 1)

    def _duplicate(self, path: YamlPath, event: Any) -> None:
        first = self.places[path][0]
        second = event.start_mark.line + 1
        self.problems.append(
            Problem(
                code=Code.DUPLICATE_KEY,
                message=f"{path[-1]!r} is set twice, "
                + (f"both in line {first}" if first == second else f"in line {first} and in line {second}"),
                remedy="keep one of the two",
                path=path,
            )
        )

    def _empty(self, path: YamlPath) -> None:
        self.problems.append(
            Problem(
                code=Code.EMPTY_VALUE,
                message="the value is missing",
                remedy="write a value, or remove it"
                if isinstance(path[-1], int)
                else "write a value, or remove the key to use its default; `{}` is a mapping with all defaults",
                path=path,
            )
        )


def parse(text: str, *, subject: str, noun: str = "fleet file") -> Document:
    """Return the content of `text`; raise `FleetError` (LF104 to LF109) if it is not a mapping.

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
        return Problem(code=Code.FILE_EMPTY, message="the file is empty", remedy=_START)
    message = "a fleet file must be a mapping of keys to values"
    return Problem(code=Code.FILE_NOT_A_MAPPING, message=message, remedy=_START, value=data)


def _refusal(message: str, remedy: str, event: Any) -> _Refusal:
    return _Refusal(Problem(code=Code.YAML_FEATURE, message=message, remedy=remedy), event.start_mark)


def syntax_error(error: yaml.YAMLError, text: str, *, subject: str) -> FleetError:
    """Return the error for `text`, with line, column and the text of the line."""
    line, column = _place(error, text)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    lines = text.splitlines()
    shown = lines[line] if line < len(lines) else ""
    problem = Problem(
        code=Code.FILE_NOT_YAML,
        message=f"this is not valid YAML: {what}, in line {line + 1}, column {column + 1}",
        remedy=_remedy(shown),
        value=shown or None,
    )
    return FleetError([locate(problem, line + 1, column + 1)], subject=subject)


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """Return line and column, both from 0."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return mark.line, mark.column
    before = text[: getattr(error, "position", 0)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _remedy(line: str) -> str:
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        return "indent with spaces: YAML does not allow tabs"
    return "check the colons, quotes, brackets and the indentation of this line and the line before"
