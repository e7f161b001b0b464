"""Lays the user's own keys over what was rendered."""

from collections.abc import Mapping
from typing import Any


def pruned(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return `section` without what says nothing: `None`, empty sections and empty lists."""
    return {key: value for key, value in section.items() if not _is_empty(value)}


def merged(rendered: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `rendered` with `overrides`: section into section, items behind items, any other value in its place."""
    result = dict(rendered)
    for key, value in overrides.items():
        result[key] = _laid_over(result.get(key), value)
    return result


def _laid_over(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return merged(below, above)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list) and not value)
