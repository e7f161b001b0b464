"""Limits as sacctmgr writes them: numbers, durations, and numbers of resources with their units."""

from __future__ import annotations

from decimal import Decimal
from typing import Optional

NONE = -1
"""Takes a limit back (sacctmgr(1))."""
_MEBI = {"K": Decimal(1) / 1024, "M": Decimal(1), "G": Decimal(1024), "T": Decimal(1024**2), "P": Decimal(1024**3)}
_ROUNDED = Decimal("0.01")
"""How far a number may be off that was written with a unit: sacctmgr keeps two places."""


def as_number(option: str, text: str) -> Optional[int]:
    """Return the number of a count; minutes for `MaxWall`. `None` for no limit, or for a word such as `parent`."""
    if option == "MaxWall":
        return as_minutes(text)
    return int(text) if text.isdigit() else None


def as_minutes(text: str) -> Optional[int]:
    """Return the whole minutes of `D-HH:MM:SS`; `None` for no limit."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if len(parts) != 3 or not all(part.isdigit() for part in (*parts, days or "0")):
        return None
    hours, minutes, _ = map(int, parts)
    return (int(days or 0) * 24 + hours) * 60 + minutes


def as_resources(text: str) -> dict[str, Decimal]:
    """Return the numbers of `node=16,mem=100G,gres/gpu=8` by resource; memory in MiB."""
    found: dict[str, Decimal] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        unit = _MEBI.get(number[-1:])
        plain = number[:-1] if unit else number
        if name and plain.replace(".", "", 1).isdigit():
            found[name] = Decimal(plain) * (unit or 1)
    return found


def differ(there: Optional[Decimal], wanted: Optional[int]) -> bool:
    """Return whether a limit is another than the wanted one; one that was rounded by its unit is the same."""
    if there is None or wanted is None:
        return there is not wanted
    return abs(there - wanted) > (wanted * _ROUNDED if there >= 1024 else 0)
