"""Access to the machine: all reads and changes use it, so that tests can set another root folder."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Callable, Optional

_LINES = 15
"""Number of last lines of a failed command's output in the error."""


class CommandFailed(Exception):
    """A command failed or timed out."""


class Host:
    """One machine, whose file system begins at `root`."""

    def __init__(self, root: Path) -> None:
        """`root`: `/`, or a folder in tests."""
        self.root = root

    def path(self, path: str) -> Path:
        """Return where the absolute `path` is."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> Optional[str]:
        """Return the stripped text of `path`; `None` if there is no such file."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str) -> None:
        """Write `text` to `path` atomically."""
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)

    def run(self, *command: str, seconds: float = 60) -> str:
        """Run `command` and return its output. Raises `CommandFailed`."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandFailed(f"`{' '.join(command)}` did not finish within {seconds:g} s") from error
        except OSError as error:
            raise CommandFailed(f"`{' '.join(command)}` cannot be run: {error.strerror}") from error
        if done.returncode:
            tail = "\n".join(done.stdout.strip().splitlines()[-_LINES:])
            raise CommandFailed(f"`{' '.join(command)}` ended with {done.returncode}: {tail}")
        return done.stdout

    def run_often(self, *command: str, seconds: float, times: int = 3) -> str:
        """Run `command` up to `times` until it succeeds, because downloads can fail temporarily."""
        for attempt in range(1, times):
            try:
                return self.run(*command, seconds=seconds)
            except CommandFailed as error:
                say(f"{error}; retrying")
                time.sleep(pause(attempt))
        return self.run(*command, seconds=seconds)

    def wait(self, ready: Callable[[], bool], *, seconds: float) -> bool:
        """Return whether `ready()` became true within `seconds`."""
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.2)
        return True


def pause(attempt: int) -> float:
    """Return the seconds to wait after the failed `attempt`, counted from 1."""
    return PAUSE * attempt


PAUSE = 5.0


def say(text: str) -> None:
    """Write a line to the journal and the console."""
    print(text, flush=True)
