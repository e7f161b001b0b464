"""What logrotate(8) is told of the logs that nobody else rotates."""

from __future__ import annotations

import fnmatch
import re
import stat

from llm_fleet_node.host import Host

FOLDER = "/etc/logrotate.d"
SLURM_LOGS = "/var/log/slurm"
_DAEMONS = ("slurmctld", "slurmd", "slurmdbd")
_PATTERN = re.compile(r"(?<![\w.])/[^\s{}\"']+")


def others_patterns(host: Host, ours: tuple[str, ...]) -> list[str]:
    """Return the paths and patterns of logs that files other than `ours` in logrotate's folder name."""
    folder = host.path(FOLDER)
    found: list[str] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name not in ours and path.is_file():
            heads = re.sub(r"\{[^}]*\}", " ", path.read_text(encoding="utf-8", errors="replace"))
            lines = (line.split("#")[0] for line in heads.splitlines())
            found += [match for line in lines for match in _PATTERN.findall(line)]
    return found


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
