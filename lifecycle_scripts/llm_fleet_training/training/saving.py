"""Writes a step's checkpoint with all processes; when that fails, the previous one stays the newest."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.checkpoints.checkpoints import Checkpoints, Complete
from llm_fleet_training.checkpoints.mirror import Mirror
from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.checkpoints.record import FileRecord, Record
from llm_fleet_training.failures import Failure
from llm_fleet_training.training.folder import room
from llm_fleet_training.training.together import together

Say = Callable[[str], None]


@dataclass
class Saver:
    """`record(step)` returns the metadata of a checkpoint; `keep` newest ones are kept."""

    backend: Backend
    checkpoints: Checkpoints
    record: Callable[[int], Record]
    keep: int
    say: Say
    mirror: Optional[Mirror] = None
    size: int = 0
    """Bytes of a checkpoint: first estimated, then the size of the last one."""
    _done: List[Complete] = field(default_factory=lambda: [])

    def reckon(self) -> None:
        """Estimate the size of a checkpoint, and check the free space for it."""
        self.size = max(self.size, sum(map(int, self.backend.exchange(str(self.backend.checkpoint_bytes())))))
        folder = self.checkpoints.folder
        together(self.backend, lambda: room(folder, self.size), folder, main_only=True)

    def save(self, step: int) -> float:
        """Returns the seconds for which training paused."""
        begin = time.perf_counter()
        folder = self.checkpoints.folder
        together(self.backend, lambda: room(folder, self.size), folder, main_only=True)
        part = self.checkpoints.begin(step)
        try:
            together(self.backend, lambda: self.backend.save(part), part.folder)
            files = self._all_files(part)
            together(self.backend, lambda: self._commit(part, files), folder, main_only=True)
        except Failure:
            if self.backend.is_main:
                self.checkpoints.abandon(part)
            raise
        self.size = sum(file.size for file in files.values())
        return time.perf_counter() - begin

    def _all_files(self, part: Part) -> Dict[str, FileRecord]:
        own = json.dumps({name: [file.size, file.sha256] for name, file in part.files.items()})
        found: Dict[str, FileRecord] = {}
        for text in self.backend.exchange(own):
            for name, (size, sha256) in json.loads(text).items():
                found[name] = FileRecord(size=size, sha256=sha256)
        return found

    def _commit(self, part: Part, files: Dict[str, FileRecord]) -> None:
        complete = self.checkpoints.commit(part, self.record(part.step), files)
        waiting: List[int] = []
        if self.mirror is not None:
            self.mirror.offer(complete)
            waiting = self.mirror.waiting()
        gone = self.checkpoints.prune(self.keep, newest=part.step, in_use=waiting)
        words = f"; removed: {', '.join(map(str, gone))}" if gone else ""
        self.say(f"checkpoint of step {part.step}: {complete.record.size} bytes in {complete.folder}{words}")
