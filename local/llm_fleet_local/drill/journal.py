"""Events of a run, in order: the source of the report and the live progress."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One event."""

    at: float
    """Seconds since the epoch."""
    what: str
    """Type of the event, e.g. `scripts-started`."""
    node: str
    """The node's name in the cluster, e.g. `workers-1`; empty for the cluster as a whole."""
    text: str
    """Text for the user."""


class Journal:
    """Writes entries to a file, one JSON object per line, and passes them to listeners."""

    def __init__(self, path: Path, listener: Callable[[Entry], None] = lambda _: None) -> None:
        """Append to `path`, which may have earlier entries of the same run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.folder = path.parent
        """The folder for files of the run."""
        self._listener = listener
        self._lock = threading.Lock()
        self.entries: list[Entry] = []

    def note(self, what: str, text: str, node: str = "", *, at: float | None = None) -> Entry:
        """Record an event now, or at a time in seconds since 1970."""
        entry = Entry(time.time() if at is None else at, what, node, text)
        with self._lock:
            self.entries.append(entry)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(entry)) + "\n")
        self._listener(entry)
        return entry

    def last(self, what: str, node: str = "") -> Entry | None:
        """Return the newest entry of that kind, only of `node` when it is given."""
        found = [entry for entry in self.entries if entry.what == what and node in ("", entry.node)]
        return found[-1] if found else None
