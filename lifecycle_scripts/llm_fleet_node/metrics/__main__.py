"""`python3 -m llm_fleet_node.metrics SETTINGS FOLDER [--once]`: collects metrics until it is stopped."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
from pathlib import Path

from llm_fleet_node.metrics.aws import Aws
from llm_fleet_node.metrics.collector import Collector, seconds_to_next
from llm_fleet_node.metrics.credentials import CredentialSource
from llm_fleet_node.metrics.machine import Machine
from llm_fleet_node.metrics.publishers import publisher
from llm_fleet_node.metrics.settings import fingerprint, read_settings

_TAKEN = 3
"""Exit code if another instance is running."""


def main(arguments: list[str]) -> int:
    """Collect metrics each minute, or once; return the exit code. Only one instance runs on a node."""
    path, folder, *rest = arguments
    try:
        text = Path(path).read_text(encoding="utf-8")
        settings = read_settings(Path(path))
    except (OSError, ValueError, TypeError) as error:
        return _end(f"{path} cannot be read: {error}", 2)
    lock = os.open(Path(folder) / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # The kernel releases the lock when the process ends.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _end("another instance is running on this node", _TAKEN)
    machine = Machine(Path(os.environ.get("LLM_FLEET_ROOT", "/")))
    aws = Aws(settings.region, CredentialSource(machine))
    to = publisher(settings, aws)
    collector = Collector(settings, machine, to, Path(folder), settings_fingerprint=fingerprint(text), say=_say)
    if "--once" in rest:
        return 1 if collector.once().trouble else 0
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopped.set())
    _say(f"collects metrics every {settings.seconds} s for {settings.destination}")
    while True:
        collector.once()
        if stopped.wait(seconds_to_next(time.time(), settings.seconds, settings.node)):
            return 0


def _end(why: str, code: int) -> int:
    _say(why)
    return code


def _say(what: str) -> None:
    """Print to the journal, which rotates itself."""
    print(what, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
