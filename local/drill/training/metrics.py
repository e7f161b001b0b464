"""What a run leaves behind: a row for each step of `metrics.jsonl`, and `result.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One step that was taken. A step that was lost with a node is taken twice, and has two rows."""

    step: int
    loss: float
    seconds: float
    """Without its checkpoint."""
    checkpoint_seconds: float
    """For which training paused for its checkpoint; 0 for a step without."""
    restart: int
    """How often the run was started before."""
    at: float
    """When it was done, in seconds since 1970."""


def read_rows(run_folder: Path) -> list[Row]:
    """Return the rows so far; a line that is being written is left out."""
    try:
        text = (run_folder / "metrics.jsonl").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1].splitlines()
    return [_row(json.loads(line)) for line in whole if line.strip()]


def read_result(run_folder: Path) -> dict[str, Any]:
    """Return the run's result.json. Raises `FileNotFoundError` before."""
    return json.loads((run_folder / "result.json").read_text(encoding="utf-8"))


def _row(reported: dict[str, Any]) -> Row:
    return Row(
        step=reported["step"],
        loss=reported["loss"],
        seconds=reported["seconds"],
        checkpoint_seconds=reported["checkpoint_seconds"],
        restart=reported["restart"],
        at=datetime.fromisoformat(reported["time"]).timestamp(),
    )
