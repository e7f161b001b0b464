"""Entries of logrotate(8) for logs that no other package rotates."""

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
"""File name suffixes that logrotate ignores; see `tabooext` in logrotate.conf(5)."""
_DAEMON_PATH = re.compile(rf"/\S*bin/(?:{'|'.join(_DAEMONS)})\b")
_PATTERN = re.compile(r"(?<![\w.])/[^\s{}\"']+")


def others_patterns(host: Host, ours: tuple[str, ...]) -> list[str]:
    """Return the log paths and patterns in the files of logrotate's folder, without the file `ours`."""
    found: list[str] = []
    for text in _entries(host, ours).values():
        heads = re.sub(r"\{[^}]*\}", " ", text)
        lines = (line.split("#")[0] for line in heads.splitlines())
        found += [match for line in lines for match in _PATTERN.findall(line)]
    return found


def disable_dead_entries(host: Host, ours: tuple[str, ...]) -> None:
    """Disable entries of logrotate that signal a Slurm daemon with a program that does not exist.

    Debian's packages have such entries, but images move the programs to /opt/slurm: after such a rotation the daemons
    would keep writing to the old file. The file is kept, renamed with a suffix that logrotate ignores.
    """
    for name, text in _entries(host, ours).items():
        if any(not host.path(path).exists() for path in _DAEMON_PATH.findall(text)):
            host.path(f"{FOLDER}/{name}").replace(host.path(f"{FOLDER}/{name}.disabled"))
            host.changes.append(f"disabled {FOLDER}/{name}, which signals a daemon that does not exist")


def _entries(host: Host, ours: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of logrotate's files by name, without `ours`."""
    folder = host.path(FOLDER)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        path.name: path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.name not in ours and path.is_file() and not path.name.endswith(_UNREAD)
    }


def rotated(path: str, patterns: list[str]) -> bool:
    """Return whether one of `patterns` matches `path`. logrotate rejects a log with two entries."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def slurm_entry(host: Host, patterns: list[str]) -> str:
    """Return the entry for the daemons' logs that no other entry rotates; empty if all are rotated."""
    logs = [f"{SLURM_LOGS}/{daemon}.log" for daemon in _DAEMONS]
    left = [log for log in logs if not rotated(log, patterns)]
    if not left:
        return ""
    # SIGUSR2 makes a daemon reopen its log; see slurmd(8). Only for the main process: it would end jobs' slurmstepd.
    signals = [
        f"        systemctl kill --kill-who=main --signal=SIGUSR2 {daemon}.service >/dev/null 2>&1 || true"
        for daemon in _DAEMONS
    ]
    options = ["size 50M", "rotate 4", "compress", "delaycompress", "missingok", "notifempty", "nocreate"]
    return _entry(left, [*_owner(host), *options, "sharedscripts"], ["    postrotate", *signals, "    endscript"])


def own_entry(patterns: list[str]) -> str:
    """Return the entries for the logs of llm-fleet and of the platform, whose processes keep them open."""
    options = ["size 50M", "rotate 4", "compress", "delaycompress", "missingok", "notifempty"]
    text = _entry(["/var/log/llm-fleet/*.log"], options, [])
    provisioning = "/var/log/provision/provisioning.log"
    if not rotated(provisioning, patterns):
        text += _entry([provisioning], [*options, "copytruncate"], [])
    return text


def _owner(host: Host) -> list[str]:
    """Return the option that logrotate requires for a folder that other users can write to."""
    folder = host.path(SLURM_LOGS)
    loose = folder.is_dir() and folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return ["su root root"] if loose else []


def _entry(logs: list[str], options: list[str], script: list[str]) -> str:
    return "\n".join([" ".join(logs) + " {", *(f"    {option}" for option in options), *script, "}", ""])
