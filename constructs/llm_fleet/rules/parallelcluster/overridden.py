"""Reads what `overrides` say in ParallelCluster's own spelling, where a rule looks at keys that have no attribute."""

from collections.abc import Mapping, Sequence
from typing import Any, cast


def overridden(overrides: Mapping[str, Any], *keys: str) -> Any:
    """Return the value at `keys`, e.g. `"DevSettings", "EfaInterfaceType"`; `None` where there is none."""
    value: Any = overrides
    for key in keys:
        value = cast(Mapping[str, Any], value).get(key) if isinstance(value, Mapping) else None
    return value


def section(overrides: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the section at `keys`; an empty one where there is none."""
    value = overridden(overrides, *keys)
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def items(overrides: Mapping[str, Any], *keys: str) -> Sequence[Mapping[str, Any]]:
    """Return the sections of the list at `keys`; none where there is no list."""
    value = overridden(overrides, *keys)
    if not isinstance(value, list | tuple):
        return ()
    return [cast(Mapping[str, Any], item) for item in cast(Sequence[Any], value) if isinstance(item, Mapping)]
