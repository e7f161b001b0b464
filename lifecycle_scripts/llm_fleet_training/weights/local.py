"""A model in a local or mounted folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights.entries import Entry
from llm_fleet_training.weights.space import writing


class LocalFolder:
    """Copies files, so that no user changes the weights during the run."""

    def __init__(self, folder: Path) -> None:
        """`folder` as the user wrote it."""
        self._folder = folder
        self.place = str(folder.absolute())

    def entries(self) -> List[Entry]:
        """Its files; LFJ32 when it is not a readable folder."""
        found: List[Entry] = []
        try:
            for each in sorted(os.scandir(self._folder), key=lambda each: each.name):
                if each.is_file():
                    found.append(Entry(path=each.name, size=each.stat().st_size))
        except OSError as error:
            fail(Code.MODEL_NOT_FOUND, f"{self.place}: {error.strerror}")
        return found

    def fetch(self, chosen: List[Entry], folder: Path) -> None:
        """Copy each under a temporary name first, so that a final name means a complete file."""
        for entry in chosen:
            source, target = self._folder / entry.path, folder / entry.path
            if target.is_file() and _same(source, target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.incomplete")
            with writing(folder):
                shutil.copyfile(source, draft)
                shutil.copystat(source, draft)
            draft.replace(target)

    def identity(self) -> Dict[str, Any]:
        """Its path."""
        return {"source": self.place, "revision": None}


def _same(source: Path, target: Path) -> bool:
    """Digest of sizes and times: files of the same size may belong to different models."""
    one, other = source.stat(), target.stat()
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
