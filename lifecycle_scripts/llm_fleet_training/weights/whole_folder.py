"""A folder that is whole or not there at all, however often and wherever its making is killed."""

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
    """Made in `.<name>.part` beside it, a marker written last, then renamed: who sees the folder sees all of it."""

    def __init__(self, target: Path, *, marker: str) -> None:
        """`marker`: name of the JSON file that says what the folder is; written last."""
        self.target = target.absolute()
        self.marker = marker
        self.part = self._next_to("part")
        """Where it is made. It stays when the making is killed, so that the next run goes on."""

    def document(self) -> Optional[Dict[str, Any]]:
        """What the marker says; None when the folder is not there, LFJ10 when it holds something else."""
        self._put_back()
        place = self.target / self.marker
        if not place.exists():
            if self.target.exists() and (not self.target.is_dir() or any(self.target.iterdir())):
                fail(Code.FOLDER, f"{self.target} holds files, but no {self.marker}: it was not made by this command")
            return None
        try:
            said: Any = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            fail(Code.FOLDER, f"{place} cannot be read: {error}")
        return cast("Dict[str, Any]", said) if isinstance(said, dict) else {}

    @contextmanager
    def making(self) -> Generator[Path, None, None]:
        """Yield the folder to fill, which is this process's alone; LFJ10 when another process is at it."""
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self._next_to("lock"), "w")  # noqa: SIM115 - held until the end
        except OSError as error:
            fail(Code.FOLDER, f"{self.target.parent} cannot be written: {error.strerror}")
        with lock:
            self._lock(lock.fileno())
            self.part.mkdir(exist_ok=True)
            yield self.part

    def finish(self, document: Dict[str, Any]) -> None:
        """Write the marker and put the folder in its place, in exchange for what is there."""
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
        """Throw away what a killed run has left, where it is of no use."""
        shutil.rmtree(self.part, ignore_errors=True)
        self.part.mkdir(exist_ok=True)

    def _put_back(self) -> None:
        """A run that was killed between the two renames of an exchange has left the former folder aside."""
        old = self._next_to("old")
        if old.exists() and not self.target.exists():
            old.rename(self.target)

    def _next_to(self, what: str) -> Path:
        return self.target.parent / f".{self.target.name}.{what}"

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(Code.FOLDER, f"another process is making {self.target}: wait until it has ended")
        except OSError:
            pass  # A file system without locks: Lustre mounted without `flock`.
