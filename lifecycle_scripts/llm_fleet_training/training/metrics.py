"""`metrics.jsonl`: one row per step, appended by rank 0, over all starts of a run; `result.json` at its end."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any, Dict, List, Optional


class Metrics:
    """Rows are flushed immediately; the next start removes an incomplete row of a killed process."""

    def __init__(self, run_folder: Path) -> None:
        """Opens the file, and counts this start: `restart` is 0 at the first start of a run."""
        run_folder.mkdir(parents=True, exist_ok=True)
        path = run_folder / "metrics.jsonl"
        rows = whole_rows(path)
        self.restart = int(rows[-1].get("restart", 0)) + 1 if rows else 0
        self._file = path.open("a")
        self._board = _board(run_folder / "logs" / "tensorboard")

    def row(self, **values: Any) -> None:
        """One step's values; `loss`, `learning_rate` and the like go to TensorBoard too, where it is installed."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._file.write(json.dumps({**values, "restart": self.restart, "time": now}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if name != "step" and isinstance(value, (int, float)):
                    self._board.add_scalar(name, value, values["step"])
            self._board.flush()

    def close(self) -> None:
        """Flush and close the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def whole_rows(path: Path) -> List[Dict[str, Any]]:
    """The number of complete rows; removes an incomplete last line, so that the next row starts on a new line."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) != len(text):
        os.truncate(path, len(whole))
    return [json.loads(line) for line in whole.splitlines() if line.strip()]


def write_result(run_folder: Path, words: Dict[str, Any]) -> None:
    """Write the file atomically."""
    draft = run_folder / f".result.json.{os.getpid()}"
    draft.write_text(json.dumps(words, indent=1, sort_keys=True) + "\n")
    draft.replace(run_folder / "result.json")


def _board(folder: Path) -> Optional[Any]:
    """A writer of TensorBoard's event files, where the package is installed."""
    try:
        module: Any = import_module("torch.utils.tensorboard.writer")
    except ImportError:
        return None
    return module.SummaryWriter(str(folder))
