"""What logrotate(8) is told of the logs that nobody else rotates."""

from __future__ import annotations

import fnmatch
import re
import stat

from llm_fleet_node.host import Host

FOLDER = "/etc/logrotate.d"
SLURM_LOGS = "/var/log/slurm"
_DAEMONS = ("slurmctld", "slurmd", "slurmdbd")
_UNREAD = (
    ".disabled",
    ".bak",
    ".orig",
    ".swp",
    ".rpmsave",
    ".rpmorig",
    ".rpmnew",
    ".dpkg-old",
    ".dpkg-new",
    ".dpkg-dist",
    "~",
)
"""Ends of names that logrotate passes over; see `tabooext` in logrotate.conf(5)."""
_DAEMON_PATH = re.compile(rf"/\S*bin/(?:{'|'.join(_DAEMONS)})\b")
_PATTERN = re.compile(r"(?<![\w.])/[^\s{}\"']+")


def others_patterns(host: Host, ours: tuple[str, ...]) -> list[str]:
    """Return the paths and patterns of logs that files other than `ours` in logrotate's folder name."""
    found: list[str] = []
    for text in _entries(host, ours).values():
        heads = re.sub(r"\{[^}]*\}", " ", text)
        lines = (line.split("#")[0] for line in heads.splitlines())
        found += [match for line in lines for match in _PATTERN.findall(line)]
    return found


def disable_dead_entries(host: Host, ours: tuple[str, ...]) -> None:
    """Take entries out of logrotate's sight that signal a daemon of Slurm by a path at which there is none.

    As Debian's packages bring them, in an image that has moved the programs to /opt/slurm: after such a rotation the
    daemons write on in the old file. Nothing is removed; the file gets an end to its name that logrotate passes over.
    """
    for name, text in _entries(host, ours).items():
        if any(not host.path(path).exists() for path in _DAEMON_PATH.findall(text)):
            host.path(f"{FOLDER}/{name}").replace(host.path(f"{FOLDER}/{name}.disabled"))
            host.changes.append(f"disabled {FOLDER}/{name}, which signals a daemon that is not there")


def _entries(host: Host, ours: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of the files that logrotate reads, by their names, without `ours`."""
    folder = host.path(FOLDER)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        path.name: path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.name not in ours and path.is_file() and not path.name.endswith(_UNREAD)
    }


def rotated(path: str, patterns: list[str]) -> bool:
    """Return whether one of `patterns` names `path`. logrotate refuses a log that two entries name."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def slurm_entry(host: Host, patterns: list[str]) -> str:
    """Return the entry for those of the daemons' logs that nobody rotates; empty when somebody rotates all of them."""
    logs = [f"{SLURM_LOGS}/{daemon}.log" for daemon in _DAEMONS]
    left = [log for log in logs if not rotated(log, patterns)]
    if not left:
        return ""
    # SIGUSR2 makes a daemon open its log anew; see slurmd(8). To the main process only: it would end jobs' slurmstepd.
    signals = [
        f"        systemctl kill --kill-who=main --signal=SIGUSR2 {daemon}.service >/dev/null 2>&1 || true"
        for daemon in _DAEMONS
    ]
    options = ["size 50M", "rotate 4", "compress", "delaycompress", "missingok", "notifempty", "nocreate"]
    return _entry(left, [*_owner(host), *options, "sharedscripts"], ["    postrotate", *signals, "    endscript"])


def own_entry(patterns: list[str]) -> str:
    """Return the entries for this package's log and the platform's, which the platform keeps open."""
    options = ["size 50M", "rotate 4", "compress", "delaycompress", "missingok", "notifempty"]
    text = _entry(["/var/log/llm-fleet/*.log"], options, [])
    provisioning = "/var/log/provision/provisioning.log"
    if not rotated(provisioning, patterns):
        text += _entry([provisioning], [*options, "copytruncate"], [])
    return text


def _owner(host: Host) -> list[str]:
    """Return the option without which logrotate refuses a folder that others may write."""
    folder = host.path(SLURM_LOGS)
    loose = folder.is_dir() and folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return ["su root root"] if loose else []


def _entry(logs: list[str], options: list[str], script: list[str]) -> str:
    return "\n".join([" ".join(logs) + " {", *(f"    {option}" for option in options), *script, "}", ""])
