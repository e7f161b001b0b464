"""Takes the wrong parts out of a fleet file, so that the rules can still judge the rest of it."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from pydantic_core import ErrorDetails

from llm_fleet.fleet_file.explain import KIND, likely_kind
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.problem import PathPart
from llm_fleet.spec.model import field_at, kinds_at, without_kinds


def repair(data: dict[str, Any], errors: Iterable[ErrorDetails]) -> dict[str, Any]:
    """Return `data` with each wrong value removed or, where the key must be there, replaced by an example.

    The result is never deployed: whoever repairs also raises.
    """
    mended = deepcopy(data)
    # Deepest and last first, so that removing a list's item moves none of those still to remove.
    for path in sorted({_path(error) for error in errors}, key=_order, reverse=True):
        _mend(mended, path)
    return mended


def _path(error: ErrorDetails) -> tuple[PathPart, ...]:
    of_kind = error["type"].startswith("union_tag")
    return (*error["loc"], KIND) if of_kind else tuple(error["loc"])


def _order(path: tuple[PathPart, ...]) -> tuple[int, tuple[tuple[bool, Any], ...]]:
    return len(path), tuple((isinstance(part, str), part) for part in path)


def _mend(data: Any, path: tuple[PathPart, ...]) -> None:
    if not path:
        return
    holder = data
    for part in without_kinds(Fleet, path[:-1]):
        holder = holder[part]
    field = field_at(Fleet, path)
    kinds = kinds_at(Fleet, path[:-1])
    if field is None and kinds and path[-1] == KIND:
        holder[KIND] = likely_kind(holder, kinds)
    elif field is not None and field.is_required() and field.examples:
        holder[path[-1]] = deepcopy(field.examples[0])
    elif isinstance(holder, dict):
        holder.pop(path[-1], None)  # pyright: ignore[reportUnknownMemberType]
    else:
        del holder[path[-1]]
