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


def holds_intrinsic(value: Any) -> bool:
    """Return whether an intrinsic function stands anywhere in `value`."""
    if isinstance(value, Mapping):
        section = cast("Section", value)
        return is_intrinsic(section) or any(map(holds_intrinsic, section.values()))
    return isinstance(value, list | tuple) and any(map(holds_intrinsic, cast("list[Any]", value)))


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
    found = (section or {}).get(name)
    return [cast("Section", item) for item in cast("list[Any]", found)] if isinstance(found, list) else []
