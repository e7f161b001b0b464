"""A lock on shared storage that does not outlive its holder.

Not `flock`: on Lustre it holds over all nodes, over one, or is refused, by the option the file system was mounted with
(`flock`, `localflock`, `noflock`), and the user's own file system may be mounted anyhow. What every POSIX file system
does alike is used: a file is hard-linked to a name that must not exist yet, which exactly one of many nodes can do.

Each holder has a number: the file `<name>.<number>` is its own, and the highest number is the lock. The holder writes
it anew every few seconds. Whoever waits sees by its own clock (no two nodes need agree on the time) that it has not
changed for long, or that its process is gone from this very machine, and takes the next number. No file that may be the
highest is ever removed, so that one who slept over a change cannot take what another has: it finds a higher number, and
lets go. A holder that was thought dead and comes back finds that too, before it publishes anything; see `Held.check`.
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
"""How often a holder says that it lives, and how long it may be silent. A storage that stands still for longer makes
others take over: that costs a build, never its result, since only the highest number publishes."""
_LEFT_SECONDS = 3600
"""Age of a draft of which nobody is the writer any more."""
_START_TIME = 19
"""Place of the start time in /proc/<pid>/stat, counted from after the name: field 22 (proc(5))."""


@dataclass(frozen=True)
class Seen:
    """What a waiter saw of the lock's highest number."""

    number: int
    text: str
    """As it lies there; what nobody of us wrote is a holder that never says that it lives."""

    @property
    def record(self) -> dict[str, Any]:
        """What its holder says of itself; empty when it cannot be read."""
        try:
            said = json.loads(self.text)
        except ValueError:
            return {}
        return cast("dict[str, Any]", said) if isinstance(said, dict) else {}

    @property
    def is_over(self) -> bool:
        """Whether its holder has let go, having ended its work or failed."""
        return self.record.get("state") in (DONE, FAILED)

    @property
    def who(self) -> str:
        """Whoever holds or held it, in words."""
        said = self.record
        return f"{said.get('host', 'somebody')} (process {said.get('pid', '?')}, since {said.get('since', '?')})"


class SharedLock:
    """One lock, as one process sees it."""

    def __init__(self, folder: Path, name: str, *, stale: float = STALE_SECONDS, beat: float = BEAT_SECONDS) -> None:
        """Take the folder of locks, which must be there, and the lock's name; seconds as told above."""
        self.folder = folder
        self.name = name
        self.beat = beat
        self._stale = stale
        self._pattern = re.compile(re.escape(name) + r"\.(\d{8,})")
        self._last: Optional[Seen] = None
        self._changed = 0.0

    def look(self) -> Optional[Seen]:
        """Return the highest number and what is in it; `None` when nobody ever took the lock."""
        number = self.highest()
        if not number:
            return None
        try:
            text = self.path(number).read_text(encoding="utf-8", errors="replace")
        except OSError:  # e.g. a folder: nobody of us made it, and it never changes
            text = ""
        seen = Seen(number, text)
        if seen != self._last:
            self._last, self._changed = seen, time.monotonic()
        return seen

    def is_abandoned(self, seen: Seen) -> bool:
        """Return whether the holder that was `seen` is gone: told of this machine, else silent for too long."""
        return _is_gone_from_here(seen.record) or time.monotonic() - self._changed > self._stale

    def take(self, after: int) -> Optional[Held]:
        """Take the number `after` the one that was seen last, 0 for none; `None` when another was faster."""
        number = after + 1
        record = {"host": os.uname().nodename, "pid": os.getpid(), "boot": _boot(), "began": _began(os.getpid())}
        record |= {"since": stamp(time.time()), "state": HELD, "beat": 0, "doing": ""}
        made = shared_files.draft(self.path(number), _text(record))
        try:
            os.link(made, self.path(number))
        except FileExistsError:
            if os.stat(made).st_nlink != 2:  # NFS may have made the link and lost the answer; see link(2)
                return None
        finally:
            made.unlink()
        if self.highest() != number:
            self.path(number).unlink(missing_ok=True)
            return None
        self._tidy(number)
        return Held(self, number, record)

    def highest(self) -> int:
        """Return the highest number that was taken; 0 when none was."""
        found = (self._pattern.fullmatch(name) for name in os.listdir(self.folder))
        return max((int(match.group(1)) for match in found if match), default=0)

    def path(self, number: int) -> Path:
        """Return the file of the holder with this number."""
        return self.folder / f"{self.name}.{number:08d}"

    def _tidy(self, own: int) -> None:
        """Remove the files of those who came before. One that another removes, or that is no file, is let be."""
        now = self.path(own).stat().st_mtime  # by the clock that the others' times are of
        for name in os.listdir(self.folder):
            match = self._pattern.fullmatch(name)
            with suppress(OSError):
                place = self.folder / name
                left = shared_files.is_draft(name) and place.stat().st_mtime < now - _LEFT_SECONDS
                if left or (match and int(match.group(1)) < own):
                    place.unlink()


class Held:
    """The lock, held by this process until it is let go. It says that it lives as long as it is entered."""

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
        """Tell those who wait what is being done."""
        self._write(doing=what)

    def check(self) -> None:
        """Raise `Failure` when another has taken over meanwhile: called right before anything is published."""
        highest = self._lock.highest()
        if highest != self._number:
            fail(Code.LOCK_LOST, f"{self._lock.path(highest)} was taken while this node was silent")

    def let_go(self, failure: str = "") -> None:
        """Say that the work is done, or what it failed with."""
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
    """Return whether the process that wrote `record` ran on this machine, and does not any more.

    One that is this very process has left its work, else it would not ask.
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
    """Return when the process began, by the kernel's count; empty when there is none, or its parent has not noticed."""
    with suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[_START_TIME]
    return ""
