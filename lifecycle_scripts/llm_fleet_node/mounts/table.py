"""The kernel's own table of what is mounted."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host

_TABLE = "/proc/self/mountinfo"
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mounted:
    """One line of the table."""

    path: str
    device: str
    """As the file system calls it, e.g. `/dev/nvme1n1` or `10.0.0.1@tcp:/abcdefgh`."""
    kind: str
    """E.g. `ext4`, `lustre`, `nfs4`."""
    options: tuple[str, ...]
    number: str
    """Number of the block device behind it, e.g. `259:1`."""


def mounted(host: Host) -> list[Mounted]:
    """Return everything that is mounted, what was mounted last over the same path last. See proc_pid_mountinfo(5)."""
    found: list[Mounted] = []
    for line in (host.read(_TABLE) or "").splitlines():
        front, _, back = line.partition(" - ")
        words, rest = front.split(" "), back.split(" ")
        options = (*words[5].split(","), *rest[2].split(","))
        found.append(Mounted(_plain(words[4]), _plain(rest[1]), rest[0], options, words[2]))
    return found


def mounted_at(host: Host, path: str) -> Optional[Mounted]:
    """Return what one sees at `path`, mounted there itself; `None` when nothing is."""
    found = _last_at(host, path)
    if found is not None and found.kind == "autofs":
        # Mounted when somebody looks. What is wrong with it shows in the table: it is still not there then.
        with contextlib.suppress(OSError):
            os.scandir(host.path(path)).close()
        found = _last_at(host, path)
        return None if found is None or found.kind == "autofs" else found
    return found


def mount_of(host: Host, path: str) -> Optional[Mounted]:
    """Return the mount that holds `path`, at it or above it."""
    above = [there for there in mounted(host) if path == there.path or path.startswith(there.path.rstrip("/") + "/")]
    longest = max((len(there.path) for there in above), default=0)
    return next((there for there in reversed(above) if len(there.path) == longest), None)


def _last_at(host: Host, path: str) -> Optional[Mounted]:
    return next((there for there in reversed(mounted(host)) if there.path == path.rstrip("/")), None)


def _plain(text: str) -> str:
    """Return `text` without the kernel's octal escapes of blanks."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)
