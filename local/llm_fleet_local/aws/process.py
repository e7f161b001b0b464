"""The server as a separate process, for tests and scripts."""

import json
import os
import select
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from llm_fleet_local.aws.fork_server import ForkServer

_START_SECONDS = 60
_STOP_SECONDS = 10


class ServerProcess:
    """Starts and stops `python -m llm_fleet_local.aws serve`.

    The process is separate, because moto keeps state and settings in module globals. It is a fork of a process that has
    already imported moto, because the import takes longer than most requests to a server.
    """

    def __init__(self, *, account: str, region: str) -> None:
        """Start the server on a free port and wait until it answers. Raises `RuntimeError` with its last output."""
        self._directory = tempfile.TemporaryDirectory(prefix="local-aws-")
        ready = Path(self._directory.name, "ready.json")
        self._log = Path(self._directory.name, "log")
        command = ["--until-input-ends", "--ready-file", str(ready), "--account", account, "--region", region]
        its_input, self._input = os.pipe()
        self._ended, its_life = os.pipe()
        with self._log.open("wb") as log:
            files = [its_input, log.fileno(), its_life]
            self.pid = _fork_server(account).fork(command, _clean_environment(), files)
        os.close(its_input)
        os.close(its_life)
        self.endpoint = str(self._wait_for(ready)["endpoint"])

    def stop(self) -> None:
        """Stop the server; kill it if it does not end."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            if not self._has_ended(0):
                os.kill(self.pid, how)
            if self._has_ended(_STOP_SECONDS):
                break
        os.close(self._input)
        os.close(self._ended)
        self._directory.cleanup()

    @property
    def log(self) -> str:
        """What the server has written so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _has_ended(self, seconds: float) -> bool:
        """Return whether it ends within `seconds`; then no process holds the other end of a pipe."""
        return bool(select.select([self._ended], [], [], seconds)[0])

    def _wait_for(self, ready: Path) -> dict[str, Any]:
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if self._has_ended(0.02) or time.monotonic() > deadline:
                words = self.log[-2000:]
                self.stop()
                raise RuntimeError(f"the AWS emulator did not start:\n{words}")
        return json.loads(ready.read_text(encoding="utf-8"))


@cache
def _fork_server(account: str) -> ForkServer:
    return ForkServer("llm_fleet_local.aws.serve", account, environment=_clean_environment())


def _clean_environment() -> dict[str, str]:
    """Return this process's environment without the variables that would redirect the server's own clients."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MOTO_"))}
