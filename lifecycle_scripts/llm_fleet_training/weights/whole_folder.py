"""Writes a folder atomically: it is complete or missing, even when the process is killed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Generator, Optional, cast

from llm_fleet_training.checkpoints.forcing import force_file, force_folder, force_tree
from llm_fleet_training.failures import Code, fail


class WholeFolder:
    """Written to `.<name>.part` in the same parent, a marker last, then renamed: a visible folder is complete."""

    def __init__(self, target: Path, *, marker: str) -> None:
        """`marker`: name of the JSON file with the folder's metadata; written last."""
        self.target = target.absolute()
        self.marker = marker
        self.part = self._next_to("part")
        """The temporary folder. It stays when the process is killed, so that the next run continues."""

    def document(self) -> Optional[Dict[str, Any]]:
        """The content of the marker; None when the folder is missing, LFJ10 when it has other files."""
        self._put_back()
        place = self.target / self.marker
        if not place.exists():
            if self.target.exists() and (not self.target.is_dir() or any(self.target.iterdir())):
                fail(
                    Code.OUTPUT_FOLDER, f"{self.target} has files, but no {self.marker}: this command did not create it"
                )
            return None
        try:
            said: Any = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            fail(Code.OUTPUT_FOLDER, f"{place} cannot be read: {error}")
        return cast("Dict[str, Any]", said) if isinstance(said, dict) else {}

    @contextmanager
    def making(self) -> Generator[Path, None, None]:
        """Yield the temporary folder, locked for this process; LFJ10 when another process has the lock."""
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self._next_to("lock"), "w")  # noqa: SIM115 - held until the end
        except OSError as error:
            fail(Code.OUTPUT_FOLDER, f"{self.target.parent} cannot be written: {error.strerror}")
        with lock:
            self._lock(lock.fileno())
            self.part.mkdir(exist_ok=True)
            yield self.part

    def finish(self, document: Dict[str, Any]) -> None:
        """Write the marker and rename the folder to its target, in place of an existing one."""
        for root, _, files in os.walk(self.part):
            for name in files:
                force_file(Path(root, name))
        marker = self.part / self.marker
        marker.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        force_file(marker)
        force_tree(self.part)
        old = self._next_to("old")
        if self.target.exists() and any(self.target.iterdir()):
            shutil.rmtree(old, ignore_errors=True)
            self.target.rename(old)
        self.part.rename(self.target)
        force_folder(self.target.parent)
        shutil.rmtree(old, ignore_errors=True)

    def clear(self) -> None:
        """Remove remains of a killed run that cannot be used."""
        shutil.rmtree(self.part, ignore_errors=True)
        self.part.mkdir(exist_ok=True)

    def _put_back(self) -> None:
        """Restore the previous folder after a run that was killed between the two renames."""
        old = self._next_to("old")
        if old.exists() and not self.target.exists():
            old.rename(self.target)

    def _next_to(self, what: str) -> Path:
        return self.target.parent / f".{self.target.name}.{what}"

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(Code.OUTPUT_FOLDER, f"another process writes {self.target}: wait until it has ended")
        except OSError:
            pass  # A file system without locks: Lustre mounted without `flock`.
