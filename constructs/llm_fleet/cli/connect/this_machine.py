"""The local side of a session: required programs, the terminal, and the ssh configuration.

ssh, scp, rsync and editors connect to nodes through Session Manager. Host key checks stay enabled. Each instance's key
is stored under its instance id (`HostKeyAlias`), in a separate file. The first key is accepted (`accept-new`), because
Session Manager already authenticates the instance. A replacement has a new instance id and a new key; a known instance
with another key is rejected.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from shlex import join
from typing import IO, Self

from llm_fleet.catalog.aws_api import api_rate
from llm_fleet.cli.clients import AwsRefusal, refusal
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.cli.write_files import reason_of, write_file
from llm_fleet.rules.feature_codes import CommandCode, NodesCode
from llm_fleet.rules.problem import FleetError, Problem


class Platform(Enum):
    """The operating system of this machine."""

    LINUX = "linux"
    MACOS = "darwin"
    WINDOWS = "win32"

    @classmethod
    def of_this_machine(cls) -> Self:
        """Return the platform; any other than these three counts as Linux."""
        return next((one for one in cls if sys.platform.startswith(str(one.value))), cls("linux"))

    def command_line(self, words: list[str]) -> str:
        """Return `words` quoted for this platform's shell: POSIX, or cmd.exe and PowerShell."""
        return subprocess.list2cmdline(words) if self is Platform.WINDOWS else join(words)


AWS = "aws"
PLUGIN = "session-manager-plugin"
_DEB = "https://s3.amazonaws.com/session-manager-downloads/plugin/latest/ubuntu_64bit/session-manager-plugin.deb"
_INSTALL = {
    (AWS, Platform.LINUX): "run `sudo snap install aws-cli --classic`, or see docs.aws.amazon.com/cli for a bundle",
    (AWS, Platform.MACOS): "run `brew install awscli`",
    (AWS, Platform.WINDOWS): "run `winget install Amazon.AWSCLI`, and open a new terminal",
    (
        PLUGIN,
        Platform.LINUX,
    ): f"run `curl -O {_DEB}` and `sudo dpkg -i session-manager-plugin.deb`; AWS provides an RPM, too",
    (PLUGIN, Platform.MACOS): "run `brew install --cask session-manager-plugin`",
    (PLUGIN, Platform.WINDOWS): "run `winget install Amazon.SessionManagerPlugin`, and open a new terminal",
}


def check_programs(platform: Platform) -> None:
    """Raise `FleetError` (LF1106) with every missing AWS program and the command that installs it."""
    missing = [name for name in (AWS, PLUGIN) if shutil.which(name) is None]
    problems = [
        Problem(
            code=NodesCode.PROGRAM_MISSING,
            message=f"{name} is not installed",
            remedy=f"{_INSTALL[name, platform]}; --print prints the command for another machine",
        )
        for name in missing
    ]
    if problems:
        raise FleetError(problems, subject="Session Manager")


_PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry. Sessions count per account, so each wait is longer."""
_ERROR = re.compile(r"An error occurred \(([A-Za-z.]+)\) when calling the (\w+) operation[^:]*: (.*)", re.DOTALL)
_NOT_CONNECTED = ("TargetNotConnected", "TargetNotConnectedException")


def open_session(words: Sequence[str], name: str, *, sleep: Callable[[float], None] = time.sleep) -> int:
    """Run an AWS CLI command that opens a session with the node `name`; return its exit code.

    Not by exec: a throttled session ends with an exit code, and is started again here with a message.
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
        reported = refusal(_client_error(error, operation, text))
        assert reported is not None
        if reported.code is not CommandCode.THROTTLED:
            raise AwsRefusal([reported], subject=f"a session with {name}")
        if pause is not None:
            print(f"AWS throttled the session; retry in {pause:g} s", file=sys.stderr, flush=True)
            sleep(pause)
    refuse(
        NodesCode.THROTTLED,
        f"AWS throttled the session {len(_PAUSES) + 1} times",
        f"try again in a minute; an account can start {api_rate('start_session').per_second:g} sessions per second, "
        "including those of scripts",
        subject=f"a session with {name}",
    )


def _run(words: Sequence[str]) -> tuple[int, str]:
    """Run `words` in this terminal. Returns the exit code, and the error of AWS, which is not printed yet."""
    program = shutil.which(words[0]) or words[0]
    # A handler, not SIG_IGN: the child process would inherit that.
    before = signal.signal(signal.SIGINT, _leave_to_the_session)
    try:
        process = subprocess.Popen([program, *words[1:]], stderr=subprocess.PIPE)  # noqa: S603 - words of our own
        assert process.stderr is not None
        said: list[str] = []
        listener = threading.Thread(target=_listen, args=(process.stderr, said), daemon=True)
        listener.start()
        code = process.wait()
        # On some systems the plugin outlives the command and keeps the pipe open.
        listener.join(timeout=1)
        return code, "".join(said)
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_to_the_session(_number: int, _frame: object) -> None:
    """Ignore Ctrl-C here: it is for the program on the node."""


def _listen(stream: IO[bytes], said: list[str]) -> None:
    """Print standard error, except for an error of AWS, which is reported as a problem."""
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
    """Return the error in boto3's form, so that it is reported like any other."""
    from botocore.exceptions import ClientError

    return ClientError({"Error": {"Code": code, "Message": text}}, operation)


def _refuse_unreached(name: str, text: str) -> None:
    refuse(
        NodesCode.NOT_REACHED,
        f"Session Manager cannot connect to {name}: {text}",
        "check with `llm-fleet nodes` that it runs; if it does, check its SSM Agent, the ssmmessages permissions of "
        "its execution role, and its route to the ssm endpoints",
        subject=f"a session with {name}",
    )


_SHORT = (NodeRole.CONTROLLER, NodeRole.LOGIN, NodeRole.HEAD)
_POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
"""OpenSSH for Windows runs a ProxyCommand without a shell or PATH; this program is from AWS's guide."""
FOLDER = "llm-fleet"
"""Folder in ~/.ssh."""


def ssh_config(
    nodes: Sequence[Node],
    *,
    prefix: str,
    region: str,
    user: str | None,
    profile: str | None,
    platform: Platform,
) -> str:
    """Return the ssh configuration of the nodes that Session Manager can connect to; all hosts begin with `prefix`-."""
    reached = [node for node in nodes if node.target and node.running]
    lines = [
        f"# {len(reached)} nodes, by `llm-fleet connect --ssh-config`: write it again after nodes were replaced.",
        "",
    ]
    for node, aliases in zip(reached, _aliases(reached, prefix), strict=True):
        command = _proxy_command(node, region, profile, platform)
        lines += [f"Host {' '.join(aliases)}", f"  HostKeyAlias {node.instance_id}", f"  ProxyCommand {command}", ""]
    lines += [f"Host {prefix}-*", *(f"  {line}" for line in _common(user)), ""]
    return "\n".join(lines)


def _common(user: str | None) -> Iterator[str]:
    if user is not None:
        yield f"User {user}"
    yield "StrictHostKeyChecking accept-new"
    yield f"UserKnownHostsFile ~/.ssh/{FOLDER}/known_hosts"
    # Session Manager ends a session after 20 minutes without output.
    yield "ServerAliveInterval 60"


def _aliases(nodes: Sequence[Node], prefix: str) -> Iterator[list[str]]:
    """Yield the names of each node: its role if it is the first with it, its label, its Slurm name."""
    met: set[NodeRole] = set()
    for node in nodes:
        names = [node.label, node.name]
        if node.role is not None and node.role in _SHORT and node.role not in met:
            met.add(node.role)
            names.insert(0, str(node.role))
        yield list(dict.fromkeys(f"{prefix}-{name}" for name in names if name))


def _proxy_command(node: Node, region: str, profile: str | None, platform: Platform) -> str:
    # ssh expands tokens that begin with a percent sign.
    words = ["aws", "ssm", "start-session", *(["--profile", profile.replace("%", "%%")] if profile else [])]
    words += ["--region", region, "--target", str(node.target)]
    words += ["--document-name", "AWS-StartSSHSession", "--parameters", "portNumber=%p"]
    command = platform.command_line(words)
    if platform is Platform.WINDOWS:
        # PowerShell takes one argument, with single quotes inside.
        inner = command.replace('"', "'")
        return f'{_POWERSHELL} "{inner}"'
    return command


_OWN_FOLDER = 0o700
_OWN_FILE = 0o600
INCLUDE = f"Include {FOLDER}/*.conf"
_INCLUDE = re.compile(rf"^\s*include\s.*\b{FOLDER}/", re.IGNORECASE | re.MULTILINE)


def write_ssh_file(text: str, *, name: str, home: Path) -> tuple[Path, bool]:
    """Write `text` for the cluster `name` below `home` atomically, with mode 0600.

    Returns the file, and whether ~/.ssh/config includes it; ~/.ssh/config is never changed. Raises
    `FleetError` (LF1113, LF161).
    """
    ssh = home / ".ssh"
    path = ssh / FOLDER / f"{name}.conf"
    try:
        for folder in (ssh, ssh / FOLDER):
            folder.mkdir(mode=_OWN_FOLDER, exist_ok=True)
        before = os.umask(0o777 & ~_OWN_FILE)
        try:
            write_file(path, text, force=True)
        finally:
            os.umask(before)
        return path, _is_included(ssh / "config")
    except OSError as error:
        remedy = "check the owner of ~/.ssh; without --write the configuration is printed"
        refuse(NodesCode.SSH_FILE, f"cannot write the file: {reason_of(error)}", remedy, subject=str(path))


def _is_included(config: Path) -> bool:
    try:
        return bool(_INCLUDE.search(config.read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:
        return False
