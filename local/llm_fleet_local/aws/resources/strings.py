"""How CloudFormation passes values to functions."""

from collections.abc import Mapping
from typing import Any, cast


def as_strings(value: Any) -> Any:
    """Return a value as CloudFormation passes it to functions: booleans and numbers arrive as strings."""
    if isinstance(value, Mapping):
        return {key: as_strings(item) for key, item in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list):
        return [as_strings(item) for item in cast(list[Any], value)]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
