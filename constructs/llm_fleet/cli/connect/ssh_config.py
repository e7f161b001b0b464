"""OpenSSH's configuration of a fleet's nodes, and its file.

Settings of ssh for the nodes of a cluster: ssh, scp, rsync and editors come in through Session Manager.

No host key is disabled. Each machine's key is kept under its instance id (`HostKeyAlias`), in a file of its own: the
first key is taken (`accept-new`), since the way there is AWS's own and already says who the machine is; a machine that
took another's place has a new id and a new key, and a known machine with another key is refused.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from llm_fleet.cli.atomic_write import write_file
from llm_fleet.cli.connect.interactive import Platform
from llm_fleet.cli.failures import refuse
from llm_fleet.cli.nodes.node import Node, NodeRole
from llm_fleet.rules.command_codes import NodesCode

_SHORT = (NodeRole.CONTROLLER, NodeRole.LOGIN, NodeRole.HEAD)
_POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
"""OpenSSH for Windows starts no shell for a ProxyCommand and looks for no program, so AWS's guide names this one."""
FOLDER = "llm-fleet"
"""Below ~/.ssh."""


def ssh_config(
    nodes: Sequence[Node],
    *,
    prefix: str,
    region: str,
    user: str | None,
    profile: str | None,
    platform: Platform,
) -> str:
    """Return the text for every node of `nodes` that Session Manager reaches; all hosts begin with `prefix`-."""
    reached = [node for node in nodes if node.target and node.running]
    lines = [
        f"# {len(reached)} nodes, by `llm-fleet connect --ssh-config`: write it anew after nodes were replaced.",
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
    # A session without a word for 20 minutes is ended by Session Manager.
    yield "ServerAliveInterval 60"


def _aliases(nodes: Sequence[Node], prefix: str) -> Iterator[list[str]]:
    """Yield the names of each node: by role where it is the first of it, by its label, by what Slurm calls it."""
    met: set[NodeRole] = set()
    for node in nodes:
        names = [node.label, node.name]
        if node.role is not None and node.role in _SHORT and node.role not in met:
            met.add(node.role)
            names.insert(0, str(node.role))
        yield list(dict.fromkeys(f"{prefix}-{name}" for name in names if name))


def _proxy_command(node: Node, region: str, profile: str | None, platform: Platform) -> str:
    # ssh reads a percent sign as the beginning of a word of its own.
    words = ["aws", "ssm", "start-session", *(["--profile", profile.replace("%", "%%")] if profile else [])]
    words += ["--region", region, "--target", str(node.target)]
    words += ["--document-name", "AWS-StartSSHSession", "--parameters", "portNumber=%p"]
    command = platform.command_line(words)
    if platform is Platform.WINDOWS:
        # PowerShell takes one argument; quotes within it are single ones.
        inner = command.replace('"', "'")
        return f'{_POWERSHELL} "{inner}"'
    return command


_OWN_FOLDER = 0o700
_OWN_FILE = 0o600
INCLUDE = f"Include {FOLDER}/*.conf"
_INCLUDE = re.compile(rf"^\s*include\s.*\b{FOLDER}/", re.IGNORECASE | re.MULTILINE)


def write_ssh_file(text: str, *, name: str, home: Path) -> tuple[Path, bool]:
    """Write `text` for the cluster `name` below `home`, whole or not at all, for its owner only.

    Returns the file, and whether ~/.ssh/config includes it. That is the person's own and is not touched. Raises
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
        reason = (error.strerror or type(error).__name__).lower()
        remedy = "see who owns ~/.ssh; without --write the settings are printed"
        refuse(NodesCode.SSH_FILE, f"the file cannot be written: {reason}", remedy, subject=str(path))


def _is_included(config: Path) -> bool:
    try:
        return bool(_INCLUDE.search(config.read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:
        return False
