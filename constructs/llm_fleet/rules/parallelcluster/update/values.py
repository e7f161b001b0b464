"""Values of a configuration as they reach ParallelCluster, so that two of them can be compared."""

from collections.abc import Mapping
from typing import Any, cast

Section = Mapping[str, Any]


def normal(value: Any) -> Any:
    """Return `value` with its scalars as the provider gets them: CloudFormation turns all of them into text.

    So 4 equals '4', and `True` equals 'true', whichever file they were read from. `None` is left out of mappings.
    """
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(key): normal(item) for key, item in items if item is not None}
    if isinstance(value, list | tuple):
        return [normal(item) for item in cast("list[Any]", value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if value is None else str(value)


def is_intrinsic(value: Any) -> bool:
    """Return whether `value` is an intrinsic function of CloudFormation, known at deployment only."""
    if not isinstance(value, Mapping):
        return False
    names = [str(name) for name in cast("Section", value)]
    return len(names) == 1 and (names[0] in ("Ref", "Condition") or names[0].startswith("Fn::"))


def section_at(configuration: Section, *path: str) -> Section:
    """Return the section at `path`, empty where there is none."""
    for name in path:
        below = configuration.get(name)
        if not isinstance(below, Mapping):
            return {}
        configuration = cast("Section", below)
    return configuration


def items_at(section: Section | None, name: str) -> list[Section]:
    """Return the sections of the list `name`, none where there is no such list."""
    return [cast("Section", item) for item in as_list((section or {}).get(name)) if isinstance(item, Mapping)]


def as_list(value: Any) -> list[Any]:
    """Return `value` where it is a list, and an empty one where it is not."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def may_be_equal(one: Any, other: Any) -> bool:
    """Return whether two normal values may turn out the same: a literal may be what a function works out."""
    if one == other:
        return True
    if is_intrinsic(one) or is_intrinsic(other):
        return not (is_intrinsic(one) and is_intrinsic(other)) and None not in (one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast("Section", one), cast("Section", other)
        return left.keys() == right.keys() and all(may_be_equal(left[name], right[name]) for name in left)
    mine, theirs = as_list(one), as_list(other)
    return bool(mine) and len(mine) == len(theirs) and all(map(may_be_equal, mine, theirs))
