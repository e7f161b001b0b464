"""A second copy of checkpoints in S3, made in the background by the AWS CLI; `checkpoint.json` goes last.

A prefix without it is incomplete, like a folder without it. What fails is told, and does not stop the training.
"""

from __future__ import annotations

import contextlib
import queue
import re
import threading
from pathlib import Path
from typing import Callable, List, Optional

from llm_fleet_training.checkpoints.aws import AwsFailed, aws
from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.checkpoints.record import NAME

WAITING = 2
"""Checkpoints that may wait for their copy. Each is spared from pruning meanwhile, so that they take space."""
ROW = re.compile(r"PRE step_(\d{8})/")


class Mirror:
    """One thread copies; `offer` never waits for it."""

    def __init__(self, uri: str, *, keep: int, say: Callable[[str], None]) -> None:
        """`uri` is like `s3://bucket/run`; the newest `keep` are kept there, too."""
        self.uri = uri.rstrip("/")
        self._keep = max(1, keep)
        self._say = say
        self._queue: "queue.Queue[Optional[Complete]]" = queue.Queue(maxsize=WAITING)
        self._waiting: List[int] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="mirror", daemon=True)
        self._thread.start()

    def offer(self, checkpoint: Complete) -> None:
        """Copy it when its turn comes. When too many wait already, the oldest of them is left out, with a word."""
        with self._lock:
            self._waiting.append(checkpoint.step)
            while True:
                try:
                    self._queue.put_nowait(checkpoint)
                    return
                except queue.Full:
                    self._leave_out()

    def _leave_out(self) -> None:
        with contextlib.suppress(queue.Empty):  # The thread may have taken it this moment.
            left = self._queue.get_nowait()
            if left is not None:
                self._waiting.remove(left.step)
                self._say(f"mirror: step {left.step} is left out: copies are slower than checkpoints")

    def waiting(self) -> List[int]:
        """Steps that are not copied yet."""
        with self._lock:
            return list(self._waiting)

    def close(self, seconds: float) -> None:
        """Wait for what was offered, but not longer than so."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._say(f"mirror: steps {self.waiting()} were not copied within {seconds:g} s; the next start does it")

    def _work(self) -> None:
        while (checkpoint := self._queue.get()) is not None:
            try:
                self._copy(checkpoint)
                self._say(f"mirror: step {checkpoint.step} is in {self.uri}")
                self._prune(checkpoint.step)
            except (AwsFailed, OSError) as error:
                self._say(f"mirror: step {checkpoint.step} is not copied: {error}")
            with self._lock:
                self._waiting.remove(checkpoint.step)

    def _copy(self, checkpoint: Complete) -> None:
        there = f"{self.uri}/{checkpoint.folder.name}"
        aws("s3", "sync", f"{checkpoint.folder}/", f"{there}/", "--exclude", NAME, "--only-show-errors")
        aws("s3", "cp", f"{checkpoint.folder / NAME}", f"{there}/{NAME}", "--only-show-errors")

    def _prune(self, newest: int) -> None:
        """`checkpoint.json` goes first, so that what is half removed is incomplete."""
        for step in [one for one in listed(self.uri) if one <= newest][: -self._keep]:
            there = f"{self.uri}/step_{step:08}"
            aws("s3", "rm", f"{there}/{NAME}", "--only-show-errors")
            aws("s3", "rm", f"{there}/", "--recursive", "--only-show-errors")


def listed(uri: str) -> List[int]:
    """Steps below a prefix, ascending; complete or not."""
    try:
        return sorted(map(int, ROW.findall(aws("s3", "ls", f"{uri.rstrip('/')}/"))))
    except AwsFailed as error:
        if error.code == 1 and not error.said:  # So says `aws s3 ls` of a prefix below which there is nothing.
            return []
        raise


def fetch(uri: str, step: int, folder: Path) -> bool:
    """Copy a step's files into `folder`; False when it is incomplete there."""
    there = f"{uri.rstrip('/')}/step_{step:08}"
    if NAME not in aws("s3", "ls", f"{there}/"):
        return False
    aws("s3", "cp", f"{there}/", f"{folder}/", "--recursive", "--only-show-errors")
    return True
