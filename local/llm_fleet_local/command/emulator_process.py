"""Starts the AWS emulator of a project once and finds it again, so that a second deployment updates the first one."""

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

from llm_fleet_local.command.project import LocalError, Project

START_DEADLINE_SECONDS = 60
STOP_DEADLINE_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class AwsEmulator:
    """A running AWS emulator."""

    pid: int
    endpoint: str
    log: Path


def running(project: Project) -> AwsEmulator | None:
    """Return the emulator in the project's state file, if it runs and answers."""
    try:
        found = _of_state(project)
    except (OSError, ValueError, KeyError):  # There is none, or a killed start left a part of it.
        return None
    return found if _alive(found.pid) and _answers(found.endpoint) else None


def start(project: Project) -> AwsEmulator:
    """Start an emulator for `project`; it keeps running when this process ends. Raises `LocalError`."""
    project.prepare()
    ready = project.state / "ready"
    ready.unlink(missing_ok=True)
    with _log(project).open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "llm_fleet_local.aws", "serve", "--port", "0", "--ready-file", str(ready)],
            cwd=project.state,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _wait_until(
        lambda: ready.exists() or process.poll() is not None,
        START_DEADLINE_SECONDS,
        LocalError("the AWS emulator does not start", f"read {_log(project)}"),
    )
    if not ready.exists():
        raise LocalError(f"the AWS emulator ended with {process.returncode}", f"read {_log(project)}")
    ready.rename(_state(project))
    return _of_state(project)


def stop(project: Project) -> bool:
    """Stop the project's emulator; return whether there was one. All that was deployed to it is gone."""
    found = running(project)
    _state(project).unlink(missing_ok=True)
    if found is None:
        return False
    os.kill(found.pid, signal.SIGTERM)
    _wait_until(
        lambda: not _alive(found.pid),
        STOP_DEADLINE_SECONDS,
        LocalError("the AWS emulator does not stop", f"end process {found.pid} yourself"),
    )
    return True


def _state(project: Project) -> Path:
    return project.state / "server.json"


def _log(project: Project) -> Path:
    return project.state / "aws-emulator.log"


def _of_state(project: Project) -> AwsEmulator:
    """Read the server's state file, which it wrote when it was ready."""
    state = json.loads(_state(project).read_text(encoding="utf-8"))
    return AwsEmulator(pid=state["pid"], endpoint=state["endpoint"], log=_log(project))


def _alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie of this program."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # It has ended; another user's process may have its id now.
        return False
    return True


def _answers(endpoint: str) -> bool:
    """Check the port's answer, because the process id may belong to another program by now."""
    try:
        with urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5) as answer:  # noqa: S310 - our own loopback
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _wait_until(condition: Callable[[], bool], seconds: float, failure: LocalError) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise failure
        time.sleep(0.05)
