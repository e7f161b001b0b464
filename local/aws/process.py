"""The server as a process of its own, for tests and scripts."""

import json
import os
import select
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from local.aws.fork_server import ForkServer

_START_SECONDS = 60
_STOP_SECONDS = 10


class ServerProcess:
    """Starts `python -m local.aws serve` and stops it again.

    A process of its own, because moto keeps state and settings in module globals; a fork of one that has imported moto
    already, because that takes longer than most requests to a server.
    """

    def __init__(self, *, account: str, region: str) -> None:
        """Start the server on a free port and wait until it answers. Raises `RuntimeError` with its last words."""
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
        """Ask the server to end, and make it end when it does not."""
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
        """Wait so long for its end: after that no process holds the other end of a pipe."""
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
    return ForkServer("local.aws.serve", account, environment=_clean_environment())


def _clean_environment() -> dict[str, str]:
    """This process's environment without what would lead the server's own clients elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MOTO_"))}
