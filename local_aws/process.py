"""The server as a process of its own, for tests and scripts."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
_START_SECONDS = 60
_STOP_SECONDS = 10


class ServerProcess:
    """Starts `python -m local_aws serve` and stops it again.

    A process of its own, because moto keeps state and settings in module globals.
    """

    def __init__(self, *, account: str, region: str) -> None:
        """Start the server on a free port and wait until it answers. Raises `RuntimeError` with its last words."""
        self._directory = tempfile.TemporaryDirectory(prefix="local-aws-")
        ready = Path(self._directory.name, "ready.json")
        self._log = Path(self._directory.name, "log")
        command = [sys.executable, "-m", "local_aws", "serve", "--until-input-ends", "--ready-file", str(ready)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--account", account, "--region", region],
                cwd=_ROOT,
                env=_clean_environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.endpoint = str(self._wait_for(ready)["endpoint"])

    def stop(self) -> None:
        """Ask the server to end, and make it end when it does not."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._directory.cleanup()

    @property
    def log(self) -> str:
        """What the server has written so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _wait_for(self, ready: Path) -> dict[str, Any]:
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                words = self.log[-2000:]
                self.stop()
                raise RuntimeError(f"the local emulation did not start:\n{words}")
            time.sleep(0.05)
        return json.loads(ready.read_text(encoding="utf-8"))


def _clean_environment() -> dict[str, str]:
    """This process's environment without what would lead the server's own clients elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MOTO_"))}
