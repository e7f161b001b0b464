"""The kernel's mount table."""

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
    """Device, e.g. `/dev/nvme1n1` or `10.0.0.1@tcp:/abcdefgh`."""
    kind: str
    """E.g. `ext4`, `lustre`, `nfs4`."""
    options: tuple[str, ...]
    number: str
    """Number of its block device, e.g. `259:1`."""


def mounted(host: Host) -> list[Mounted]:
    """Return all mounts in mount order, so the last one at a path is the visible one. See proc_pid_mountinfo(5)."""
    found: list[Mounted] = []
    for line in (host.read(_TABLE) or "").splitlines():
        front, _, back = line.partition(" - ")
        words, rest = front.split(" "), back.split(" ")
        options = (*words[5].split(","), *rest[2].split(","))
        found.append(Mounted(_plain(words[4]), _plain(rest[1]), rest[0], options, words[2]))
    return found


def mounted_at(host: Host, path: str) -> Optional[Mounted]:
    """Return the visible mount at exactly `path`; `None` if there is none."""
    found = _last_at(host, path)
    if found is not None and found.kind == "autofs":
        # An automount: reading the path mounts it. If that fails, it is still missing in the table.
        with contextlib.suppress(OSError):
            os.scandir(host.path(path)).close()
        found = _last_at(host, path)
        return None if found is None or found.kind == "autofs" else found
    return found


def mount_of(host: Host, path: str) -> Optional[Mounted]:
    """Return the mount that contains `path`."""
    above = [there for there in mounted(host) if path == there.path or path.startswith(there.path.rstrip("/") + "/")]
    longest = max((len(there.path) for there in above), default=0)
    return next((there for there in reversed(above) if len(there.path) == longest), None)


def _last_at(host: Host, path: str) -> Optional[Mounted]:
    return next((there for there in reversed(mounted(host)) if there.path == path.rstrip("/")), None)


def _plain(text: str) -> str:
    """Return `text` with the kernel's octal escapes of spaces decoded."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)
