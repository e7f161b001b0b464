"""Changes keys of a YAML text at their positions; all other lines, comments and their order stay."""

import json
from collections.abc import Collection, Mapping
from typing import Any, cast

import yaml

from llm_fleet.fleet_file.document import plain_scalar
from llm_fleet.rules.problem import as_yaml

_INDENT = 2


def set_keys(text: str, path: tuple[str, ...], entries: Mapping[str, Any], *, keep: Collection[str] | None = ()) -> str:
    """Return `text` whose mapping at `path` has `entries`, and of its other keys only those in `keep`; `None`: all.

    `path` must exist in `text`, which must be valid YAML. Comments of removed lines stay, on lines of their own. New
    keys of the whole file, an empty `path`, are its last ones. New lines have the line ending of the first line.
    """
    if not path:
        end = _document_end(text)
        new = _blocks(text, entries, 0)
        return f"{text[:end].rstrip()}{_line_ending(text)}{new}{text[end:]}"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    key, value = _at(root, path)
    if keep is None:
        keep = [one.value for one, _ in _pairs(value) if one.value not in entries]
    if not isinstance(value, yaml.MappingNode) or value.flow_style or not value.value:
        return _replaced_flow(text, value, entries, keep)
    return _replaced_block(text, key, value, entries, keep)


def _document_end(text: str) -> int:
    """Return where the document ends: before its `...`, after which no key can follow."""
    ends = (token for token in yaml.scan(text, Loader=yaml.SafeLoader) if isinstance(token, yaml.DocumentEndToken))
    first = next(ends, None)
    return len(text) if first is None else first.start_mark.index


def _line_ending(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _at(root: Any, path: tuple[str, ...]) -> tuple[Any, Any]:
    key, value = None, root
    for part in path:
        key, value = next((key, value) for key, value in value.value if key.value == part)
    return key, value


def _pairs(value: Any) -> list[Any]:
    return value.value if isinstance(value, yaml.MappingNode) else []


def _replaced_flow(text: str, value: Any, entries: Mapping[str, Any], keep: Collection[str]) -> str:
    """Replace the value's text, e.g. `{az: usw2-az4}`, or a scalar that is short for a mapping."""
    start, end = value.start_mark.index, value.end_mark.index
    kept = [text[key.start_mark.index : inner.end_mark.index] for key, inner in _pairs(value) if key.value in keep]
    written = [f"{key}: {_flow(entry)}" for key, entry in entries.items()]
    return f"{text[:start]}{{{', '.join([*kept, *written])}}}{text[end:]}"


def _replaced_block(text: str, key: Any, value: Any, entries: Mapping[str, Any], keep: Collection[str]) -> str:
    lines = text.splitlines(keepends=True)
    indent = value.start_mark.column
    removed = [(one, inner) for one, inner in value.value if one.value not in keep]
    new = _blocks(text, entries, indent)
    first = removed[0][0].start_mark.line if removed else _last_line(value) + 1
    if not removed:  # Comments at the end of the mapping stay with its last key.
        while first < len(lines) and lines[first].startswith(" " * indent) and lines[first].lstrip().startswith("#"):
            first += 1
    if first == len(lines) and not text.endswith("\n"):
        lines[-1] += _line_ending(text)
    # From the last line to the first, so that line numbers stay valid.
    for one, inner in reversed(removed):
        start, last = one.start_mark.line, _last_line(inner)
        lines[start : last + 1] = _comments(lines[start : last + 1], text, one, inner, indent)
    return "".join([*lines[:first], new, *lines[first:]])


def _comments(lines: list[str], text: str, key: Any, value: Any, indent: int) -> list[str]:
    """Return the comments of removed lines, each on its own line."""
    ends = {token.end_mark.line: token.end_mark.column for token in _tokens(text, key, value)}
    found: list[str] = []
    for number, line in enumerate(lines, start=key.start_mark.line):
        rest = line[ends.get(number, 0) :].strip().lstrip(",]}").strip()
        if rest.startswith("#"):
            found.append(f"{' ' * indent}{rest}{_line_ending(text)}")
    return found


def _tokens(text: str, key: Any, value: Any) -> list[Any]:
    """Return the tokens of a key and its value that have a text."""
    first, last = key.start_mark.index, value.end_mark.index
    return [
        token
        for token in yaml.scan(text, Loader=yaml.SafeLoader)
        if first <= token.start_mark.index < token.end_mark.index <= last
    ]


def _last_line(value: Any) -> int:
    """Return the last line of a value without the comments after it, which its end mark includes."""
    if isinstance(value, yaml.CollectionNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = value.end_mark
    return mark.line - 1 if mark.column == 0 and mark.line > value.start_mark.line else mark.line


def _blocks(text: str, entries: Mapping[str, Any], indent: int) -> str:
    """Return lines for `text` with `entries`."""
    new = "".join(_block(name, entry, indent) for name, entry in entries.items())
    return new.replace("\n", _line_ending(text))


def _block(key: str, value: Any, indent: int) -> str:
    start = f"{' ' * indent}{key}:"
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return f"{start}\n" + "".join(
            f"{' ' * (indent + _INDENT)}{name}: {_flow(entry)}\n" for name, entry in entries.items()
        )
    return f"{start} {_flow(value)}\n"


def _flow(value: Any) -> str:
    """Return `value` on one line, texts without quotes where YAML reads them as the same text."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        return f"{{{', '.join(f'{key}: {_flow(entry)}' for key, entry in entries.items())}}}"
    if isinstance(value, str):
        return _scalar(value)
    return as_yaml(value)


def _scalar(text: str) -> str:
    if plain_scalar(text) != text:  # E.g. `12345e10`, a number for the fleet file and a text for PyYAML.
        return json.dumps(text)
    return yaml.safe_dump(text, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
