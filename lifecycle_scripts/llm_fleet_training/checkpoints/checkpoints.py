"""Begins, commits, finds and prunes the checkpoints of a run. Only rank 0 commits and prunes.

`step_00000020/` with `checkpoint.json` is complete. A checkpoint that is being written is
`.step_00000020.<attempt>.part/`, one that is being removed `.step_00000020.<attempt>.gone/`: neither counts as a
checkpoint.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

from llm_fleet_training.checkpoints.forcing import force_folder, force_tree
from llm_fleet_training.checkpoints.part import Part, Watcher, measure, unwatched
from llm_fleet_training.checkpoints.record import NAME, FileRecord, Record, Unreadable, read
from llm_fleet_training.failures import Code, fail

FOLDER = re.compile(r"step_(\d{8})")
DRAFT = re.compile(r"\.step_\d{8}\.[^/]+\.(part|gone)")
HELD = re.compile(r"\.step_(\d{8})\.[^/]+\.held")
HOLD_SECONDS = 24 * 3600
"""After this many seconds, the hold of a reader that was killed expires."""


@dataclass(frozen=True)
class Complete:
    """A checkpoint with its record and all files in their recorded sizes."""

    folder: Path
    record: Record

    @property
    def step(self) -> int:
        """The number of steps completed."""
        return self.record.step


@dataclass(frozen=True)
class PassedOver:
    """A folder that is named like a checkpoint, but is incomplete."""

    folder: Path
    why: str


@dataclass(frozen=True)
class Checkpoints:
    """`folder` need not exist; `attempt` is unique to this start of the run."""

    folder: Path
    attempt: str = "by-hand"
    watch: Watcher = field(default=unwatched, compare=False)

    def place(self, step: int) -> Path:
        """The folder of a step's checkpoint when it is complete."""
        return self.folder / f"step_{step:08}"

    def begin(self, step: int) -> Part:
        """The folder that all processes write a step's files into. Each process calls this."""
        draft = self._draft(step, "part")
        draft.mkdir(parents=True, exist_ok=True)
        self.watch("begun")
        return Part(folder=draft, step=step, watch=self.watch)

    def commit(self, part: Part, record: Record, files: Mapping[str, FileRecord]) -> Complete:
        """Make a part a checkpoint; `files` are those of all processes. LFJ15 when files are missing here."""
        self._compare(part, files)
        whole = replace(record, files=dict(files), written=datetime.now(timezone.utc).isoformat(timespec="seconds"))
        force_tree(part.folder)
        self.watch("before record")
        path = part.folder / NAME
        with path.open("x") as file:
            file.write(whole.as_json())
            file.flush()
            self.watch("record unforced")
            os.fsync(file.fileno())
        force_folder(part.folder)
        self.watch("before rename")
        place = self.place(part.step)
        self._remove(place)
        part.folder.rename(place)
        self.watch("renamed")
        force_folder(self.folder)
        self.watch("committed")
        return Complete(folder=place, record=whole)

    def abandon(self, part: Part) -> None:
        """Remove an incomplete part to free its space."""
        shutil.rmtree(part.folder, ignore_errors=True)

    def steps(self) -> List[int]:
        """Steps of all folders that are named like a checkpoint, ascending; complete or not."""
        if not self.folder.is_dir():
            return []
        found = (FOLDER.fullmatch(place.name) for place in self.folder.iterdir())
        return sorted(int(match.group(1)) for match in found if match)

    def look(self, step: int) -> "Complete | PassedOver":
        """Check record and sizes of a step's checkpoint; not the digests."""
        return self.look_into(self.place(step), step)

    @staticmethod
    def look_into(place: Path, step: int) -> "Complete | PassedOver":
        """The same for a folder of any name."""
        try:
            record = read(place)
        except Unreadable as why:
            return PassedOver(place, str(why))
        if record.step != step:
            return PassedOver(place, f"{NAME} belongs to step {record.step}")
        for name, file in sorted(record.files.items()):
            try:
                size = (place / name).stat().st_size
            except OSError:
                return PassedOver(place, f"{name} is missing")
            if size != file.size:
                return PassedOver(place, f"{name} has {size} bytes, {file.size} were written")
        return Complete(place, record)

    def newest_complete(self, before: Optional[int] = None) -> Tuple[Optional[Complete], List[PassedOver]]:
        """The newest complete one (below step `before`) by record and sizes, and newer ones skipped, with reasons."""
        passed: List[PassedOver] = []
        for step in reversed(self.steps()):
            if before is not None and step >= before:
                continue
            found = self.look(step)
            if isinstance(found, Complete):
                return found, passed
            passed.append(found)
        return None, passed

    def complete(self) -> List[Complete]:
        """All complete checkpoints, oldest first."""
        return [found for found in map(self.look, self.steps()) if isinstance(found, Complete)]

    def damage(self, checkpoint: Complete, *, share: int = 0, of: int = 1) -> List[str]:
        """Files whose digest differs from the record; process `share` of `of` reads only its share of the files."""
        found: List[str] = []
        for name in sorted(checkpoint.record.files)[share::of]:
            recorded = checkpoint.record.files[name]
            try:
                size, digest = measure(checkpoint.folder / name)
            except OSError as error:
                found.append(f"{name} cannot be read: {error.strerror}")
                continue
            if (size, digest) != (recorded.size, recorded.sha256):
                found.append(f"{name} is damaged: its SHA-256 differs from the record")
        return found

    def prune(self, keep: int, newest: int, in_use: Iterable[int] = ()) -> List[int]:
        """Remove complete checkpoints except the last `keep` (1 or more) up to `newest`, those in use and those held.

        Returns the steps removed. Incomplete ones stay, for diagnosis; they are never used. Those above
        `newest` stay, too: a start skipped them because they were damaged, and will write them again.
        """
        spared = {*in_use, *self._held()}
        gone: List[int] = []
        known = [checkpoint for checkpoint in self.complete() if checkpoint.step <= newest]
        for checkpoint in known[: -max(1, keep)]:
            if checkpoint.step not in spared:
                self._remove(checkpoint.folder)
                gone.append(checkpoint.step)
                self.watch("pruned")
        return gone

    def tidy(self) -> List[str]:
        """Remove folders that failed attempts left behind; only when no other start of this run is alive."""
        if not self.folder.is_dir():
            return []
        left = [place for place in sorted(self.folder.iterdir()) if DRAFT.fullmatch(place.name)]
        for place in left:
            shutil.rmtree(place, ignore_errors=True)
        return [place.name for place in left]

    def hold(self, step: int) -> Path:
        """Protect a checkpoint from pruning while it is read, for at most a day; unlink the file to release it."""
        marker = self.folder / f".step_{step:08}.{os.uname().nodename}-{os.getpid()}.held"
        marker.touch()
        return marker

    def _held(self) -> List[int]:
        found: Dict[Path, int] = {}
        for place in self.folder.iterdir():
            if match := HELD.fullmatch(place.name):
                found[place] = int(match.group(1))
        return [step for place, step in found.items() if _age(place) < HOLD_SECONDS]

    def _draft(self, step: int, kind: str) -> Path:
        return self.folder / f".step_{step:08}.{self.attempt}.{kind}"

    def _remove(self, place: Path) -> None:
        """Rename it first: a half-removed folder must not look like a checkpoint."""
        if not place.exists():
            return
        doomed = place.with_name(f".{place.name}.{self.attempt}-{time.monotonic_ns()}.gone")
        place.rename(doomed)
        self.watch("doomed")
        shutil.rmtree(doomed, ignore_errors=True)

    @staticmethod
    def _compare(part: Part, files: Mapping[str, FileRecord]) -> None:
        for name, recorded in files.items():
            path = part.folder / name
            size = path.stat().st_size if path.is_file() else None
            if size != recorded.size:
                seen = "is missing" if size is None else f"has {size} bytes here"
                fail(
                    Code.INCOMPLETE_CHECKPOINT,
                    f"step {part.step}: {name}, of which {recorded.size} bytes were written, {seen}",
                )


def _age(place: Path) -> float:
    try:
        return time.time() - place.stat().st_mtime
    except OSError:
        return HOLD_SECONDS  # Released at this moment.
