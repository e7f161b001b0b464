"""Expressions in the type tables: `$` and a JMESPath expression are replaced by a value of the resource."""

import datetime
import re
from collections.abc import Mapping
from typing import Any, cast

import jmespath
from jmespath import functions

_PROPERTY = re.compile(r"\bprops\.(\w+)")


class _Functions(functions.Functions):
    """Adds to JMESPath: `after(text, mark)` returns the text after a mark, e.g. the name in an ARN."""

    @functions.signature({"types": ["string", "null"]}, {"types": ["string"]})  # pyright: ignore[reportUnknownMemberType, reportUntypedFunctionDecorator]
    def _func_after(self, text: str | None, mark: str) -> str | None:
        return text.partition(mark)[2] or None if text else None


_OPTIONS = jmespath.Options(custom_functions=_Functions())


def fill(template: Any, context: Mapping[str, Any]) -> Any:
    """Return `template` with every `$expression` replaced; members whose expression finds nothing are omitted.

    `context` has the names with which an expression can begin, e.g. `props`, `ref`, `found`, `item`. A text such as
    `arn:${ref}` has its parts replaced; `$$` at the start is a literal dollar sign.
    """
    if isinstance(template, str):
        return _fill_text(template, context)
    if isinstance(template, Mapping):
        members = cast(Mapping[str, Any], template)
        filled = {key: fill(value, context) for key, value in members.items()}
        return {key: value for key, value in filled.items() if value is not None} or (None if members else {})
    if isinstance(template, list):
        items = [fill(item, context) for item in cast(list[Any], template)]
        return [item for item in items if item is not None] or (None if items else [])
    return template


def search(expression: str, context: Mapping[str, Any]) -> Any:
    """Return the result of a JMESPath expression on `context`, without null members and with times as ISO text."""
    return _without_nulls(jmespath.search(expression, context, _OPTIONS))  # pyright: ignore[reportUnknownMemberType]


def fill_text(text: str, context: Mapping[str, Any]) -> str:
    """Return `text` with its `${expression}` parts replaced."""
    return re.sub(r"\$\{([^}]+)\}", lambda found: str(search(found[1], context)), text)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value)
        return {key: _without_nulls(item) for key, item in members.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast(list[Any], value)]
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def properties_in(template: Any) -> frozenset[str]:
    """Return the names of the resource's properties that a template reads."""
    if isinstance(template, str):
        return frozenset(_PROPERTY.findall(template)) if "$" in template else frozenset()
    if isinstance(template, Mapping):
        return frozenset[str]().union(*(properties_in(value) for value in cast(Mapping[str, Any], template).values()))
    if isinstance(template, list):
        return frozenset[str]().union(*(properties_in(item) for item in cast(list[Any], template)))
    return frozenset()


def _fill_text(text: str, context: Mapping[str, Any]) -> Any:
    if text.startswith("$$"):
        return text[1:]
    if "${" in text:
        return fill_text(text, context)
    return search(text[1:], context) if text.startswith("$") else text
