"""Copies checkpoints to S3 in the background with the AWS CLI; `checkpoint.json` is copied last.

A prefix without it is incomplete, like a folder without it. Failures are logged and do not stop the training.
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
"""Maximum of checkpoints that wait for their copy. They are not pruned while they wait, so each takes space."""
ROW = re.compile(r"PRE step_(\d{8})/")


class Mirror:
    """One thread copies; `offer` never waits for it."""

    def __init__(self, uri: str, *, keep: int, say: Callable[[str], None]) -> None:
        """`uri` is like `s3://bucket/run`; `keep` is the number of newest checkpoints that are kept there."""
        self.uri = uri.rstrip("/")
        self._keep = max(1, keep)
        self._say = say
        self._queue: "queue.Queue[Optional[Complete]]" = queue.Queue(maxsize=WAITING)
        self._waiting: List[int] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="mirror", daemon=True)
        self._thread.start()

    def offer(self, checkpoint: Complete) -> None:
        """Queue a checkpoint. When too many wait already, the oldest of them is skipped, with a log line."""
        with self._lock:
            self._waiting.append(checkpoint.step)
            while True:
                try:
                    self._queue.put_nowait(checkpoint)
                    return
                except queue.Full:
                    self._leave_out()

    def _leave_out(self) -> None:
        with contextlib.suppress(queue.Empty):  # The thread may have just taken it.
            left = self._queue.get_nowait()
            if left is not None:
                self._waiting.remove(left.step)
                self._say(f"mirror: step {left.step} is skipped: copies are slower than checkpoints")

    def waiting(self) -> List[int]:
        """Steps that are still to be copied."""
        with self._lock:
            return list(self._waiting)

    def close(self, seconds: float) -> None:
        """Wait for the queued copies, at most `seconds`."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._say(
                f"mirror: steps {self.waiting()} were not copied within {seconds:g} s; the next start copies them"
            )

    def _work(self) -> None:
        while (checkpoint := self._queue.get()) is not None:
            try:
                self._copy(checkpoint)
                self._say(f"mirror: step {checkpoint.step} is copied to {self.uri}")
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
        """Remove `checkpoint.json` first, so that a half-removed checkpoint is incomplete."""
        for step in [one for one in listed(self.uri) if one <= newest][: -self._keep]:
            there = f"{self.uri}/step_{step:08}"
            aws("s3", "rm", f"{there}/{NAME}", "--only-show-errors")
            aws("s3", "rm", f"{there}/", "--recursive", "--only-show-errors")


def listed(uri: str) -> List[int]:
    """Steps below a prefix, ascending; complete or not."""
    try:
        return sorted(map(int, ROW.findall(aws("s3", "ls", f"{uri.rstrip('/')}/"))))
    except AwsFailed as error:
        if error.code == 1 and not error.said:  # `aws s3 ls` returns this for an empty prefix.
            return []
        raise


def fetch(uri: str, step: int, folder: Path) -> bool:
    """Copy a step's files into `folder`; False when it is incomplete there."""
    there = f"{uri.rstrip('/')}/step_{step:08}"
    if NAME not in aws("s3", "ls", f"{there}/"):
        return False
    aws("s3", "cp", f"{there}/", f"{folder}/", "--recursive", "--only-show-errors")
    return True
