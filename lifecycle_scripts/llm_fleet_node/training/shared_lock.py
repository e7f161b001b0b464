"""A lock on shared storage that does not outlive its holder.

Not `flock`: on Lustre it works over all nodes, only on one, or is rejected, depending on the mount option (`flock`,
`localflock`, `noflock`), and the user's own file system can have any of them. Instead a file is hard-linked to a name
that must not exist yet: on every POSIX file system exactly one of many nodes succeeds.

Each holder has a number: the file `<name>.<number>` is its own, and the highest number is the lock. The holder
rewrites it every few seconds. A waiting process measures with its own clock (clocks need not agree) that it has not
changed for too long, or sees that its process on the same machine has ended, and takes the next number. A file that can
be the highest is never removed, so a process that missed a change cannot take the lock of another: it finds a higher
number, and releases its own. A holder that was considered dead and returns also finds it before it publishes anything;
see `Held.check`.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.log import stamp
from llm_fleet_node.training import shared_files

HELD, DONE, FAILED = "held", "done", "failed"
BEAT_SECONDS, STALE_SECONDS = 5.0, 90.0
"""Seconds between renewals by the holder, and the timeout without a renewal. If the storage hangs for longer, others
take over: this costs a build, but never its result, because only the highest number publishes."""
_LEFT_SECONDS = 3600
"""Age after which a temporary file has no writer any more."""
_START_TIME = 19
"""Index of the start time in /proc/<pid>/stat after the name: field 22 (proc(5))."""


@dataclass(frozen=True)
class Seen:
    """The lock file with the highest number, as a waiting process sees it."""

    number: int
    text: str
    """The file's content; a file from another program counts as a holder that never renews."""

    @property
    def record(self) -> dict[str, Any]:
        """The holder's record; empty if it cannot be read."""
        try:
            said = json.loads(self.text)
        except ValueError:
            return {}
        return cast("dict[str, Any]", said) if isinstance(said, dict) else {}

    @property
    def is_over(self) -> bool:
        """Whether its holder has released it, after success or failure."""
        return self.record.get("state") in (DONE, FAILED)

    @property
    def who(self) -> str:
        """A description of the current or last holder."""
        said = self.record
        return f"{said.get('host', 'unknown host')} (process {said.get('pid', '?')}, since {said.get('since', '?')})"


class SharedLock:
    """A lock, in one process."""

    def __init__(self, folder: Path, name: str, *, stale: float = STALE_SECONDS, beat: float = BEAT_SECONDS) -> None:
        """Take the folder of locks, which must be there, and the lock's name; seconds as above."""
        self.folder = folder
        self.name = name
        self.beat = beat
        self._stale = stale
        self._pattern = re.compile(re.escape(name) + r"\.(\d{8,})")
        self._last: Optional[Seen] = None
        self._changed = 0.0

    def look(self) -> Optional[Seen]:
        """Return the highest number and what is in it; `None` if the lock was never taken."""
        number = self.highest()
        if not number:
            return None
        try:
            text = self.path(number).read_text(encoding="utf-8", errors="replace")
        except OSError:  # e.g. a folder of another program, which never changes
            text = ""
        seen = Seen(number, text)
        if seen != self._last:
            self._last, self._changed = seen, time.monotonic()
        return seen

    def is_abandoned(self, seen: Seen) -> bool:
        """Return whether the holder in `seen` is gone: its process on this machine has ended, or it has not renewed."""
        return _is_gone_from_here(seen.record) or time.monotonic() - self._changed > self._stale

    def take(self, after: int) -> Optional[Held]:
        """Take the number `after` the last seen one, 0 for none; `None` if another process was faster."""
        number = after + 1
        record = {"host": os.uname().nodename, "pid": os.getpid(), "boot": _boot(), "began": _began(os.getpid())}
        record |= {"since": stamp(time.time()), "state": HELD, "beat": 0, "doing": ""}
        made = shared_files.draft(self.path(number), _text(record))
        try:
            os.link(made, self.path(number))
        except FileExistsError:
            if os.stat(made).st_nlink != 2:  # NFS can have made the link and lost the answer; see link(2)
                return None
        finally:
            made.unlink()
        if self.highest() != number:
            self.path(number).unlink(missing_ok=True)
            return None
        self._tidy(number)
        return Held(self, number, record)

    def highest(self) -> int:
        """Return the highest number taken; 0 if none was."""
        found = (self._pattern.fullmatch(name) for name in os.listdir(self.folder))
        return max((int(match.group(1)) for match in found if match), default=0)

    def path(self, number: int) -> Path:
        """Return the file of the holder with this number."""
        return self.folder / f"{self.name}.{number:08d}"

    def _tidy(self, own: int) -> None:
        """Remove the files of earlier holders. Files removed by others, and folders, are ignored."""
        now = self.path(own).stat().st_mtime  # by the file system's clock, as the other times
        for name in os.listdir(self.folder):
            match = self._pattern.fullmatch(name)
            with suppress(OSError):
                place = self.folder / name
                left = shared_files.is_draft(name) and place.stat().st_mtime < now - _LEFT_SECONDS
                if left or (match and int(match.group(1)) < own):
                    place.unlink()


class Held:
    """The lock, held by this process until it is released. As a context manager it renews the lock."""

    def __init__(self, lock: SharedLock, number: int, record: dict[str, Any]) -> None:
        self._lock = lock
        self._number = number
        self._record = record
        self._writing = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Held:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def doing(self, what: str) -> None:
        """Publish the current work for waiting processes."""
        self._write(doing=what)

    def check(self) -> None:
        """Raise `Failure` if another process has taken over: called immediately before anything is published."""
        highest = self._lock.highest()
        if highest != self._number:
            fail(Code.LOCK_LOST, f"{self._lock.path(highest)} was taken while this node did not renew its lock")

    def let_go(self, failure: str = "") -> None:
        """Record that the work is done, or its failure."""
        self._write(state=FAILED if failure else DONE, failure=failure)

    def _beat(self) -> None:
        while not self._end.wait(self._lock.beat):
            with suppress(OSError):
                self._write(beat=self._record["beat"] + 1)

    def _write(self, **more: object) -> None:
        with self._writing:
            self._record.update(more)
            shared_files.put(self._lock.path(self._number), _text(self._record))


def _text(record: dict[str, Any]) -> bytes:
    return (json.dumps(record) + "\n").encode()


def _is_gone_from_here(record: dict[str, Any]) -> bool:
    """Return whether the process that wrote `record` was on this machine, and has ended.

    This process itself counts as ended: otherwise it would not wait.
    """
    if record.get("host") != os.uname().nodename or record.get("boot") != _boot():
        return False
    pid = record.get("pid")
    return pid == os.getpid() or (isinstance(pid, int) and _began(pid) != record.get("began"))


def _boot() -> str:
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return ""


def _began(pid: int) -> str:
    """Return the process's start time in kernel ticks; empty if there is none, or if it is a zombie."""
    with suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[_START_TIME]
    return ""
