"""Opens a session that a person types into, again where AWS turned it away for coming too often."""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO

from llm_fleet.catalog.aws_api import api_rate
from llm_fleet.cli.aws.refusals import AwsRefusal, refusal
from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.failure import refuse
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.day_two.nodes_codes import NodesCode

_PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further attempt: all sessions of the account count, so each waits longer than the last."""
_ERROR = re.compile(r"An error occurred \(([A-Za-z.]+)\) when calling the (\w+) operation[^:]*: (.*)", re.DOTALL)
_NOT_CONNECTED = ("TargetNotConnected", "TargetNotConnectedException")


def open_session(words: Sequence[str], name: str, *, sleep: Callable[[float], None] = time.sleep) -> int:
    """Run a command of AWS that opens a session with the node `name`; return its exit code.

    Not by exec: a session that is one too many is told by the command's exit, and is started again here, with words.
    Raises `FleetError` (LF1107, LF1108) or `AwsRefusal`.
    """
    for pause in (*_PAUSES, None):
        code, said = _run(words)
        problem = _error_of(said)
        if not code or problem is None:
            return ExitCode.INTERRUPTED if code == -signal.SIGINT else code
        error, operation, text = problem
        if error in _NOT_CONNECTED:
            _refuse_unreached(name, text)
        told = refusal(_client_error(error, operation, text))
        assert told is not None
        if told.code is not CommandCode.THROTTLED:
            raise AwsRefusal([told], subject=f"a session with {name}")
        if pause is not None:
            print(f"AWS takes it for one session too many; again in {pause:g} s", file=sys.stderr, flush=True)
            sleep(pause)
    refuse(
        NodesCode.THROTTLED,
        f"AWS turned the session away as one too many, {len(_PAUSES) + 1} times",
        f"try again in a minute; an account may start {api_rate('start_session').per_second:g} a second, and a script "
        "that opens many counts, too",
        subject=f"a session with {name}",
    )


def _run(words: Sequence[str]) -> tuple[int, str]:
    """Run `words` with this terminal; return the exit code and the error of AWS, which is not shown yet."""
    program = shutil.which(words[0]) or words[0]
    # A handler, not SIG_IGN: that would be inherited.
    before = signal.signal(signal.SIGINT, _leave_to_the_session)
    try:
        process = subprocess.Popen([program, *words[1:]], stderr=subprocess.PIPE)  # noqa: S603 - words of our own
        assert process.stderr is not None
        said: list[str] = []
        listener = threading.Thread(target=_listen, args=(process.stderr, said), daemon=True)
        listener.start()
        code = process.wait()
        # The plugin may outlive the command on some systems, and holds its end of the pipe.
        listener.join(timeout=1)
        return code, "".join(said)
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_to_the_session(_number: int, _frame: object) -> None:
    """Ctrl-C is typed for what runs on the node."""


def _listen(stream: IO[bytes], said: list[str]) -> None:
    """Pass on what is said, but for an error of AWS: that is told in words of ours."""
    for raw in stream:
        line = raw.decode("utf-8", "replace")
        if said or "An error occurred (" in line:
            said.append(line)
        elif line.strip():
            sys.stderr.write(line)
            sys.stderr.flush()


def _error_of(said: str) -> tuple[str, str, str] | None:
    found = _ERROR.search(said)
    return (found[1], found[2], " ".join(found[3].split())) if found else None


def _client_error(code: str, operation: str, text: str) -> Exception:
    """Return the error as boto3 would raise it, so that it is told like every other."""
    from botocore.exceptions import ClientError

    return ClientError({"Error": {"Code": code, "Message": text}}, operation)


def _refuse_unreached(name: str, text: str) -> None:
    refuse(
        NodesCode.NOT_REACHED,
        f"Session Manager does not reach {name}: {text}",
        "see with `llm-fleet nodes` that it runs; a node that runs and is not reached has lost its agent, its role's "
        "ssmmessages permissions, or the way to the ssm endpoints",
        subject=f"a session with {name}",
    )
