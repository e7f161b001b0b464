"""Starts the AWS emulator once and finds it again, so that a second demo uses the first one's deployment."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tools.synth_environment import ROOT

FOLDER = Path(os.environ.get("LLM_FLEET_DEMO_FOLDER", ROOT / ".demo"))
"""The folder of its state, its log and the cloud assembly; a test has its own folder."""
STATE = FOLDER / "server.json"
READY = FOLDER / "ready"
START_DEADLINE_SECONDS = 60
STOP_DEADLINE_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class AwsEmulator:
    """A running AWS emulator."""

    pid: int
    endpoint: str
    log: Path


def find_or_start(console: Console) -> AwsEmulator:
    """Return the AWS emulator of an earlier demo if it still answers, otherwise a new one."""
    running = _running()
    if running:
        console.print(f"AWS emulator found at {running.endpoint} (process {running.pid})")
        return running
    with console.status("starting the AWS emulator"):
        started = _start()
    console.print(f"AWS emulator started at {started.endpoint} (process {started.pid})")
    return started


def stop() -> bool:
    """Stop the AWS emulator of an earlier demo; return whether there was one."""
    running = _running()
    STATE.unlink(missing_ok=True)
    if not running:
        return False
    os.kill(running.pid, signal.SIGTERM)
    _wait_until(lambda: not _alive(running.pid), STOP_DEADLINE_SECONDS, "the AWS emulator does not stop")
    return True


def _start() -> AwsEmulator:
    FOLDER.mkdir(exist_ok=True)
    READY.unlink(missing_ok=True)
    log = FOLDER / "aws-emulator.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "local.aws", "serve", "--port", "0", "--ready-file", str(READY)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _wait_until(
        lambda: READY.exists() or process.poll() is not None,
        START_DEADLINE_SECONDS,
        f"the AWS emulator does not start: see {log}",
    )
    if not READY.exists():
        raise SystemExit(f"the AWS emulator ended with {process.returncode}: see {log}")
    READY.rename(STATE)
    return _of_state(log)


def _running() -> AwsEmulator | None:
    """Return the AWS emulator in the state file, if it runs and answers."""
    if not STATE.exists():
        return None
    found = _of_state(FOLDER / "aws-emulator.log")
    return found if _alive(found.pid) and _answers(found.endpoint) else None


def _of_state(log: Path) -> AwsEmulator:
    """Read the server's state file, which it wrote when it was ready."""
    state = json.loads(STATE.read_text())
    return AwsEmulator(pid=state["pid"], endpoint=state["endpoint"], log=log)


def _alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie of this program."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _answers(endpoint: str) -> bool:
    """Check the port's answer, because the process id may belong to another program by now."""
    try:
        with urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5) as answer:  # noqa: S310 - our own loopback
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _wait_until(condition: Callable[[], bool], seconds: float, complaint: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(complaint)
        time.sleep(0.05)
