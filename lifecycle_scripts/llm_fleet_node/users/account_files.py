"""Reads `/etc/passwd`, `/etc/shadow` and `/etc/group`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import Host


@dataclass(frozen=True)
class Entry:
    """One line of `/etc/passwd`."""

    name: str
    uid: int
    gid: int
    comment: str
    home: str


@dataclass(frozen=True)
class AccountFiles:
    """The accounts in a node's own files, without those of a directory service."""

    users: tuple[Entry, ...]
    groups: tuple[tuple[str, int], ...]
    locked: frozenset[str]
    """Users with a locked password."""

    @classmethod
    def of(cls, host: Host) -> AccountFiles:
        """Read the files. Invalid lines are skipped, as in the C library."""
        users = [_entry(fields) for fields in _lines(host, "/etc/passwd", 7)]
        groups = [(fields[0], int(fields[2])) for fields in _lines(host, "/etc/group", 4) if fields[2].isdigit()]
        # `!` and `*` cannot be the hash of a password; an empty field allows a login without a password.
        locked = {fields[0] for fields in _lines(host, "/etc/shadow", 9) if fields[1][:1] in ("!", "*")}
        return cls(tuple(user for user in users if user), tuple(groups), frozenset(locked))

    def user(self, name: str) -> Optional[Entry]:
        """Return the user called `name`."""
        return next((user for user in self.users if user.name == name), None)

    def uid(self, uid: int) -> Optional[Entry]:
        """Return the first user with the number `uid`."""
        return next((user for user in self.users if user.uid == uid), None)

    def gid(self, name: str) -> Optional[int]:
        """Return the number of the group called `name`."""
        return dict(self.groups).get(name)

    def group(self, gid: int) -> Optional[str]:
        """Return the name of the first group with the number `gid`."""
        return next((name for name, number in self.groups if number == gid), None)


def _lines(host: Host, path: str, fields: int) -> list[list[str]]:
    split = [line.split(":") for line in (host.read(path) or "").splitlines()]
    return [found for found in split if len(found) == fields and found[0]]


def _entry(fields: list[str]) -> Optional[Entry]:
    name, _, uid, gid, comment, home, _ = fields
    if not (uid.isdigit() and gid.isdigit()):
        return None
    return Entry(name, int(uid), int(gid), comment, home)
