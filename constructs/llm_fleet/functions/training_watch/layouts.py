"""How a program lays out its checkpoints below their prefix."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a checkpoint is, and what tells that it is whole."""

    folder: str | None
    """Regular expression of a checkpoint's folder with its step as the group; none: the prefix is one checkpoint."""
    marker: str | None = None
    """File of the folder that is written last."""
    pointer: str | None = None
    """File beside the folders that holds the name of the one to go on from."""

    @classmethod
    def of(cls, told: str | Mapping[str, Any]) -> "Layout":
        """Return the layout of that name, or of these words; raises `KeyError` for a name that is unknown."""
        words = _layouts()[told] if isinstance(told, str) else told
        return cls(folder=words["folder"], marker=words.get("marker"), pointer=words.get("pointer"))

    def step(self, folder: str) -> int | None:
        """Return the step of a checkpoint's folder, or nothing when it is none."""
        found = re.fullmatch(self.folder, folder) if self.folder else None
        return int(found.group(1)) if found else None


@cache
def _layouts() -> dict[str, dict[str, Any]]:
    return json.loads(Path(__file__).with_name("layouts.json").read_text(encoding="utf-8"))["layouts"]
