"""The last log lines of a Slurm daemon, and their diagnosis."""

from __future__ import annotations

import json
from typing import Optional, cast

from llm_fleet_node.failures import Code
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.slurm import units

_FOLDER = "/var/log/slurm"
_LINES = 40
_LONGEST = 64 * 1024
"""Maximum bytes of a log to read."""

_KNOWN = (
    ("CLUSTER ID MISMATCH", Code.CLUSTER_ID),
    ("Incompatible versions of client and server code", Code.SLURM_VERSIONS),
    ("Rewound credential", Code.MUNGE_CLOCK),
    ("Expired credential", Code.MUNGE_CLOCK),
    ("Invalid credential", Code.MUNGE_REJECTED),
    ("Protocol authentication error", Code.MUNGE_REJECTED),
    ('Failed to access "/run/munge/munge.socket', Code.MUNGE_DOWN),
    ("Unable to determine this slurmd's NodeName", Code.NODE_UNKNOWN),
    ("topology configuration is not available", Code.TOPOLOGY),
    ("Unable to contact slurm controller", Code.CONTROLLER_UNREACHABLE),
)
"""Messages of Slurm 22.05 to 24.11 by failure, the most specific first."""


def last_words(host: Host, unit: str) -> str:
    """Return the last log lines of the daemon of `unit`, without duplicates: of its last run in the journal.

    If systemd restarted it after it ended, also of the run before, which has the reason, while the newest may have no
    lines yet. If the journal has none, of its log file, which can also have lines of earlier runs.
    """
    (seen,) = units.look(host, unit)
    lines = _since_it_ended(host, seen) if seen.restarts else _of_run(host, seen.invocation)
    # A daemon writes each line to the journal twice, with its name in front and without.
    plain = [line[len(unit) + 2 :] if line.startswith(f"{unit}: ") else line for line in lines]
    return "\n".join(dict.fromkeys(line for line in plain or _tail(host, f"{_FOLDER}/{unit}.log") if line))


def _of_run(host: Host, invocation: str) -> list[str]:
    if not invocation:
        return []
    return _journal(host, f"_SYSTEMD_INVOCATION_ID={invocation}", f"--lines={_LINES}", "--output=cat").splitlines()


def _since_it_ended(host: Host, unit: units.Unit) -> list[str]:
    """Return the lines of the newest run and of the one before it."""
    fields = ("--output=json", "--output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID")
    reported = _journal(host, f"_SYSTEMD_UNIT={unit.name}.service", f"--lines={3 * _LINES}", *fields)
    entries = [json.loads(line) for line in reported.splitlines()]
    runs = list(dict.fromkeys([*(entry.get("_SYSTEMD_INVOCATION_ID", "") for entry in entries), unit.invocation]))
    return [_text(entry.get("MESSAGE")) for entry in entries if entry.get("_SYSTEMD_INVOCATION_ID") in runs[-2:]]


def _journal(host: Host, *arguments: str) -> str:
    try:
        return host.run("journalctl", *arguments, "--no-pager", timeout=20)
    except CommandFailed:
        return ""


def _text(message: object) -> str:
    """Return a field of the journal, which is a list of bytes if it is not UTF-8; see journalctl(1)."""
    if isinstance(message, list):
        return bytes(cast("list[int]", message)).decode("utf-8", "replace")
    return str(message or "")


def meaning(words: str) -> Optional[Code]:
    """Return the known failure in a daemon's log lines `words`; `None` if there is none."""
    return next((code for message, code in _KNOWN if message in words), None)


def errors_of(words: str, most: int = 6) -> str:
    """Return the last error lines of `words`, or its last lines if none is an error."""
    lines = words.splitlines()
    bad = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return "\n".join((bad or lines)[-most:])


def _tail(host: Host, path: str) -> list[str]:
    try:
        with host.path(path).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LONGEST))
            return file.read().decode("utf-8", "replace").splitlines()[-_LINES:]
    except OSError:
        return []
