"""The result of reading the metrics of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reading:
    """The values of one source, or of all sources."""

    values: Mapping[str, float] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """Values by the keys of `names`."""
    details: Mapping[str, Any] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """More fields of the log line that are not metrics: single devices, reasons of drained nodes."""
    absent: Mapping[str, str] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    """Why a source has no values, by its name."""
    broken: frozenset[str] = frozenset()
    """Names of the sources that should have values, but failed."""


def together(readings: Mapping[str, Reading]) -> Reading:
    """Return the combined `readings`, which are keyed by source."""
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
    """Return a reading for a `source` that is not on this node, with the reason."""
    return Reading(absent={source: why})


def trouble(source: str, why: str) -> Reading:
    """Return a reading for a `source` that exists but cannot be read."""
    return Reading(absent={source: why}, broken=frozenset({source}))
