"""One process's share of a checkpoint that is being written: counts, digests and syncs every byte."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Callable, Dict, Generator, Optional

from llm_fleet_training.checkpoints.forcing import force_file
from llm_fleet_training.checkpoints.record import FileRecord

CHUNK = 1 << 22
Watcher = Callable[[str], None]
"""Called at each point of a write, for tests that end a process there."""


def unwatched(point: str) -> None:
    """The default: no action."""


@dataclass
class Part:
    """A folder that is not a checkpoint yet; all processes write into the same one."""

    folder: Path
    step: int
    watch: Watcher = unwatched
    files: Dict[str, FileRecord] = field(default_factory=lambda: {})
    """What this process has written, by name."""

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes], None, None]:
        """A binary stream that is written from front to end, e.g. by `torch.save` or `write_safetensors`."""
        self.watch(f"open {name}")
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            stream = _Counted(file, lambda: self.watch(f"write {name}"))
            try:
                yield stream  # pyright: ignore[reportReturnType]
            except Exception as error:
                # torch.save turns exceptions of the stream into RuntimeError: restore the OSError of a full disk.
                raise (stream.error or error) from error
            file.flush()
            self.watch(f"force {name}")
            os.fsync(file.fileno())
        self.files[name] = FileRecord(size=stream.size, sha256=stream.digest.hexdigest())
        self.watch(f"written {name}")

    def adopt(self, name: str) -> None:
        """Add a file that a library has written into `folder`: syncs it to disk and reads it for its digest."""
        path = self.folder / name
        force_file(path)
        size, digest = measure(path)
        self.files[name] = FileRecord(size=size, sha256=digest)
        self.watch(f"written {name}")


class _Counted:
    """A write-only stream; it cannot seek, so that the digest covers the file."""

    def __init__(self, file: IO[bytes], passing: Callable[[], None]) -> None:
        self._file = file
        self._passing = passing
        self.error: Optional[OSError] = None
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes or any object with a buffer."""
        try:
            return self._write(memoryview(data).cast("B"))
        except OSError as error:
            self.error = error
            raise

    def _write(self, seen: memoryview) -> int:
        for start in range(0, len(seen), CHUNK):
            piece = seen[start : start + CHUNK]
            self._file.write(piece)
            self.digest.update(piece)
            self.size += len(piece)
            self._passing()
        return len(seen)

    def flush(self) -> None:
        """Flush the file."""
        self._file.flush()


def measure(path: Path) -> "tuple[int, str]":
    """Size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
