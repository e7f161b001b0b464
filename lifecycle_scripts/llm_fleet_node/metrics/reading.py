"""What one look at a node found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reading:
    """What one source found, or all of them together."""

    values: Mapping[str, float] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """By the keys of `names`."""
    details: Mapping[str, Any] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """What stands in the log line beside the values, and is no metric: single devices, reasons of drained nodes."""
    absent: Mapping[str, str] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """Why a source has nothing to tell, by its name."""
    broken: frozenset[str] = frozenset()
    """Names of the sources that should have told something, and could not."""


def together(readings: Mapping[str, Reading]) -> Reading:
    """Return what all `readings`, by the names of their sources, come to."""
    values: dict[str, float] = {}
    details: dict[str, Any] = {}
    absent: dict[str, str] = {}
    broken: set[str] = set()
    for reading in readings.values():
        values.update(reading.values)
        details.update(reading.details)
        absent.update(reading.absent)
        broken |= reading.broken
    return Reading(values, details, absent, frozenset(broken))


def nothing(source: str, why: str) -> Reading:
    """Return that `source` is not on this node, and why."""
    return Reading(absent={source: why})


def trouble(source: str, why: str) -> Reading:
    """Return that `source` is there, and cannot be read."""
    return Reading(absent={source: why}, broken=frozenset({source}))
