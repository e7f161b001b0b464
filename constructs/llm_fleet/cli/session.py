"""Runs a command on a node through Session Manager, the only access to a HyperPod node: no open port, no SSH key.

A session is a terminal, not a pipe: it changes line ends to CR LF, prints a line before and after, always ends with
exit code 0, and is sometimes cut off with `EOF` (aws/session-manager-plugin issue 59, aws/amazon-ssm-agent issue 354).
Therefore the output of a command is between two markers, the second with the exit code; a session without the second
marker was cut off. HyperPod allows an account to start three sessions per second, and a document's parameter may have
65,535 characters (SageMaker and Systems Manager guides).
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING

from llm_fleet.cli.verb import refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import NodesCode

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node."""

    name: str
    """Name for messages, e.g. `login-group i-0123456789abcdef0`."""
    ssm: str
    """For `aws ssm start-session --target`."""
    region: str


_DOCUMENT = "AWS-StartNonInteractiveCommand"
"""assumption: hyperpod-takes-session-documents"""
_SESSION_LONGEST = 65_535
_PAUSES = (1.0, 3.0, 9.0)
"""Seconds before a session that was cut off or throttled is started again."""
_OWN_LINES = ("Cannot perform start session", "Exiting session with sessionId")
"""Messages of the plugin within the output of a command."""
_BRIEF = 12
"""Lines of a failed session that are printed."""


@dataclass(frozen=True, slots=True)
class Done:
    """Exit code and output of a command."""

    code: int
    lines: tuple[str, ...]


class CutOff(Exception):
    """The session ended before the command did. The text is the session's output."""

    def __init__(self, said: str, *, begun: bool = False) -> None:
        """`begun`: whether the command had started, so that a retry would run it twice."""
        super().__init__(said)
        self.begun = begun


class Session:
    """Runs commands on one node as one of its users."""

    def __init__(self, target: Target, *, user: str, deadline: float | None = None) -> None:
        """Check that the required programs are installed. `deadline`: timeout of a session in seconds (default: none).

        Raises `FleetError` (LF887).
        """
        for program in ("aws", "session-manager-plugin"):
            if shutil.which(program) is None:
                remedy = "install the AWS CLI and the Session Manager plugin, which AWS provides"
                refuse(Code.JOBS_PROGRAM, f"{program} is not installed", remedy, subject="Session Manager")
        self.target = target
        self._user = user
        self._deadline = deadline

    def run(self, script: str) -> Done:
        """Run the bash `script`; run it again if the session was cut off, so it must be safe to run twice.

        Raises `FleetError` (LF888, LF889).
        """
        failures = 0
        while True:
            lines: list[str] = []
            try:
                return Done(self.follow(script, lines.append), tuple(lines))
            except CutOff as error:
                failures += 1
                self.pause(failures, str(error))

    def pause(self, failures: int, said: str) -> None:
        """Wait before a retry after `failures` in a row. Raises `FleetError` (LF888) after the last one."""
        if failures > len(_PAUSES) or "AccessDenied" in said:
            self._refuse(said)
        time.sleep(_PAUSES[failures - 1])

    def follow(self, script: str, line: Callable[[str], None]) -> int:
        """Run the bash `script`, call `line` with each line, and return the exit code. Raises `CutOff`."""
        mark = secrets.token_hex(8)
        with self._started(script, mark) as process:
            assert process.stdout is not None
            reported = _Reported(mark, line)
            for raw in process.stdout:
                reported.hear(raw.decode("utf-8", "replace").rstrip("\r\n"))
                if reported.code is not None:
                    return reported.code
        raise CutOff("\n".join(reported.around[-_BRIEF:]) or "it ended before the command", begun=reported.begun)

    @contextmanager
    def _started(self, script: str, mark: str) -> Generator[subprocess.Popen[bytes]]:
        """Yield the session, and end it with the context."""
        parameters = json.dumps({"command": [self._command(script, mark)]})
        if len(parameters) > _SESSION_LONGEST:
            refuse(
                Code.JOBS_TOO_LARGE,
                f"the batch files have {len(parameters)} characters; a session accepts {_SESSION_LONGEST}",
                "submit fewer stages together, with --stage",
                subject=self.target.name,
            )
        words = ["aws", "ssm", "start-session", "--region", self.target.region, "--target", self.target.ssm]
        words += ["--document-name", _DOCUMENT, "--parameters", parameters]
        terminal, standard_input = _terminal()
        process = subprocess.Popen(  # noqa: S603 - words of our own, no shell
            words,
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=None if sys.platform == "win32" else 0,
        )
        over = None if self._deadline is None else Timer(self._deadline, _end, [process])
        if over is not None:
            over.start()
        try:
            yield process
        finally:
            if over is not None:
                over.cancel()
            _end(process)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            for handle in (terminal, standard_input):
                if handle is not None:
                    os.close(handle)

    def _command(self, script: str, mark: str) -> str:
        """Return the command for the node: the script as the user, in base64 so that no other shell interprets it."""
        packed = base64.b64encode(script.encode()).decode()
        as_user = f"sudo --non-interactive --set-home --user={self._user} bash"
        # The end marker is on its own line, even if the output has no final line break.
        return (
            f"bash -c 'echo; echo {mark} begin; echo {packed} | base64 --decode | "
            f"{as_user} 2>&1; code=$?; echo; echo {mark} end $code'"
        )

    def _refuse(self, said: str) -> None:
        refuse(
            Code.JOBS_SESSION,
            f"the session with {self.target.name} failed: {said}",
            "allow ssm:StartSession on the cluster's ARN and on the nodes' "
            "(arn:<partition>:ssm:<region>:<account>:managed-instance/sagemaker-cluster:<cluster id>_*); "
            f"test it with `aws ssm start-session --region {self.target.region} --target {self.target.ssm}`",
            subject="Session Manager",
        )


class _Reported:
    """Separates the output of the command from that of the session."""

    def __init__(self, mark: str, line: Callable[[str], None]) -> None:
        self._mark = mark
        self._line = line
        self._inside = False
        self.begun = False
        self._blank = False
        self.code: int | None = None
        self.around: list[str] = []

    def hear(self, text: str) -> None:
        """Read the next line."""
        if self._inside and text.startswith(f"{self._mark} end "):
            self.code = int(text.rpartition(" ")[2])
        elif self._inside and not text.startswith(_OWN_LINES):
            self._hand_over(text)
        elif text == f"{self._mark} begin":
            self._inside = self.begun = True
        elif text.strip():
            self.around.append(text)

    def _hand_over(self, text: str) -> None:
        """Delay an empty line: the one before the end marker is not output of the command."""
        if self._blank:
            self._line("")
        self._blank = not text
        if text:
            self._line(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the session and its plugin, which would continue and keep the pipe open."""
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):  # macOS raises the second for a process that has ended.
        os.killpg(process.pid, signal.SIGTERM)


def _terminal() -> tuple[int | None, int | None]:
    """Return both ends of a terminal, or `None` (Windows): a session ends with its input."""
    if not hasattr(os, "openpty"):
        return None, None
    return os.openpty()


def run_command(session: Session, command: str, line: Callable[[str], None]) -> int:
    """Run `command` with bash, call `line` with each line, and return its exit code.

    A session that ends before the command has started is retried (Session Manager sometimes ends with `EOF`, or
    throttles). Later it is not, because the command may not be safe to run twice. Raises
    `FleetError` (LF888, LF1109).
    """
    failures = 0
    while True:
        try:
            return session.follow(command, line)
        except CutOff as error:
            if error.begun:
                refuse(
                    NodesCode.CUT_OFF,
                    f"the session ended while the command ran: {error}",
                    "check its result on the node, and run it again if that is safe",
                    subject=session.target.name,
                )
            failures += 1
            print(f"the session did not start: {error}", file=sys.stderr, flush=True)
            session.pause(failures, str(error))
