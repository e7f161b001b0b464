"""What AWS tells, as far as types go."""

from collections.abc import Mapping
from typing import Any, cast

Told = Mapping[str, Any]


def part(told: Told, key: str) -> Told:
    """Return the structure under `key`; empty where AWS leaves it out or says null."""
    return cast("Told", told.get(key) or {})
