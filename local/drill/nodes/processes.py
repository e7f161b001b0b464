"""Processes of the machine: distinguished from later ones with the same id, and ended with all their children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def start_time(pid: int) -> int | None:
    """Return when process `pid` was started, in the kernel's ticks since boot; `None` when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in brackets, may hold anything; what follows the last bracket starts at the third field.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


class Started:
    """A command that goes on in a session of its own (see `local.drill.nodes.node.Running`)."""

    def __init__(
        self, command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        """Start `command`; both its outputs are added to `log`. It gets `env` alone, or the caller's environment."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process, as the machine counts it."""
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code; `None` while it runs."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it ends. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        return self._process.wait(timeout)

    def kill(self) -> None:
        """Kill it and its session's processes, and wait until it is gone."""
        kill_session(self._process)


def kill_session(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill `process`, which leads a process group, with everything in that group; wait for it alone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
