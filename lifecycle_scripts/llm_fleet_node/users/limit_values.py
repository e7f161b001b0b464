"""Limits as sacctmgr writes them: numbers, durations, and numbers of resources with their units."""

from __future__ import annotations

from typing import Optional

NONE = -1
"""Removes a limit (sacctmgr(1))."""
_UNITS = "MGTP"
_STEP = 1024


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


def as_resources(text: str) -> dict[str, str]:
    """Return the numbers of `node=16,mem=100G,gres/gpu=8` by resource, as they are written."""
    parts = (part.rpartition("=") for part in text.split(","))
    return {name: number for name, _, number in parts if name and number}


def differ(resource: str, there: Optional[str], wanted: Optional[int]) -> bool:
    """Return whether `there`, as sacctmgr writes it, is another limit of `resource` than `wanted`; memory in MiB."""
    if there is None or wanted is None:
        return there is not None or wanted is not None
    return there not in (str(wanted), written_memory(wanted) if resource == "mem" else "")


def written_memory(mebibytes: int) -> str:
    """Return memory as sacctmgr writes it: in the next unit as long as that leaves whole or half ones.

    A half of the unit below may be lost by the next (`CONVERT_NUM_UNIT_EXACT` in Slurm's slurm_protocol_api.c):
    1049088 is `1.00T`.
    """
    number, unit = float(mebibytes), 0
    while number >= _STEP and int(number) % (_STEP // 2) == 0 and unit + 1 < len(_UNITS):
        number, unit = number / _STEP, unit + 1
    return f"{number:.0f}{_UNITS[unit]}" if number == int(number) else f"{number:.2f}{_UNITS[unit]}"
