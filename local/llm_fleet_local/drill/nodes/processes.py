"""Processes of the machine: distinguished from later ones with the same id, and ended with all their children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def start_time(pid: int) -> int | None:
    """Return the start time of process `pid`, in clock ticks since boot; `None` when it does not exist."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in parentheses, may have any characters; the third field follows the last parenthesis.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


class Started:
    """A running command in its own session (see `llm_fleet_local.drill.nodes.node.Running`)."""

    def __init__(
        self, command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        """Start `command` with the environment `env`, by default the caller's; both outputs are appended to `log`."""
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
        """Its process id on the machine."""
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code; `None` while it runs."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends; return its exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        return self._process.wait(timeout)

    def kill(self) -> None:
        """Kill it and all processes of its session, and wait until it has ended."""
        kill_session(self._process)


def kill_session(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill the process group of `process`, which is its leader, and wait for `process` alone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
