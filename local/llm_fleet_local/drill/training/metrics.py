"""Results of a run: a row of `metrics.jsonl` for each step, and `result.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One step. A step that was lost with a node is repeated, and has two rows."""

    step: int
    loss: float
    seconds: float
    """Without its checkpoint."""
    checkpoint_seconds: float
    """Seconds for which training paused for its checkpoint; 0 for a step without checkpoint."""
    restart: int
    """Number of earlier starts of the run."""
    at: float
    """When it ended, in seconds since 1970."""


def read_rows(run_folder: Path) -> list[Row]:
    """Return the rows so far, without an incomplete last line."""
    try:
        text = (run_folder / "metrics.jsonl").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1].splitlines()
    return [_row(json.loads(line)) for line in whole if line.strip()]


def read_result(run_folder: Path) -> dict[str, Any]:
    """Return the run's result.json. Raises `FileNotFoundError` before the run has ended."""
    return json.loads((run_folder / "result.json").read_text(encoding="utf-8"))


def _row(row: dict[str, Any]) -> Row:
    return Row(
        step=row["step"],
        loss=row["loss"],
        seconds=row["seconds"],
        checkpoint_seconds=row["checkpoint_seconds"],
        restart=row["restart"],
        at=datetime.fromisoformat(row["time"]).timestamp(),
    )
