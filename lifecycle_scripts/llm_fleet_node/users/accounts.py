"""Makes the fleet's users and groups on a node, with the same numbers everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import User
from llm_fleet_node.users.account_files import AccountFiles
from llm_fleet_node.users.account_locks import wait_until_free

COMMENT = "llm-fleet"
"""Tells in `/etc/passwd` which users came from a fleet file."""
_SHELL = "/bin/bash"


def conflicts(found: AccountFiles, users: Sequence[User]) -> list[str]:
    """Say what of the node stands in the way of `users`: a name with another number, or a number with another name."""
    problems: list[str] = []
    for user in users:
        same_name, same_uid = found.user(user.name), found.uid(user.uid)
        if same_name and (same_name.uid, same_name.gid) != (user.uid, user.gid):
            problems.append(
                f"user {user.name} has uid {same_name.uid} and gid {same_name.gid} here, "
                f"and is to have uid {user.uid} and gid {user.gid}"
            )
        if same_uid and same_uid.name != user.name:
            problems.append(f"uid {user.uid}, which {user.name} is to have, is {same_uid.name}'s here")
    for gid, name in group_names(users).items():
        number, holder = found.gid(name), found.group(gid)
        if number not in (None, gid):
            problems.append(f"group {name} has gid {number} here, and is to have gid {gid}")
        if holder not in (None, name):
            # Not shared in silence: its members, and whatever the image lets them do, would be the user's too.
            problems.append(f"gid {gid}, which group {name} is to have, is {holder}'s here")
    return problems


def group_names(users: Sequence[User]) -> dict[int, str]:
    """Return the groups of `users` by number: a user's own name, or `fleet-<gid>` for one that several share."""
    members: dict[int, list[str]] = {}
    for user in users:
        members.setdefault(user.gid, []).append(user.name)
    return {gid: names[0] if len(names) == 1 else f"fleet-{gid}" for gid, names in members.items()}


def make_accounts(host: Host, users: Sequence[User], homes: dict[str, str]) -> None:
    """Make `users` and their groups, without password; `homes` by name. What is right is not touched.

    Raises `Failure` when names or numbers are taken, before anything is changed.
    """
    found = AccountFiles.of(host)
    problems = conflicts(found, users)
    if problems:
        fail(Code.USER_IDS, "; ".join(problems), final=True)
    if not missing(found, users, homes):
        return
    wait_until_free(host)
    for gid, name in group_names(users).items():
        if found.gid(name) is None:
            host.run("groupadd", "--gid", str(gid), name, changes=f"made the group {name}")
    for user in users:
        _make_account(host, found, user, homes[user.name])


def missing(found: AccountFiles, users: Sequence[User], homes: dict[str, str]) -> list[str]:
    """Say what is not yet so of `users`, leaving conflicts aside."""
    groups = [f"there is no group {name}" for name in group_names(users).values() if found.gid(name) is None]
    problems: list[str] = []
    for user in users:
        entry = found.user(user.name)
        if entry is None:
            problems.append(f"there is no user {user.name}")
        elif entry.comment == COMMENT and entry.home != homes[user.name]:
            problems.append(f"the home of {user.name} is {entry.home}, not {homes[user.name]}")
        elif entry.comment == COMMENT and user.name not in found.locked:
            problems.append(f"the password of {user.name} is not locked")
    return groups + problems


def no_longer_wanted(found: AccountFiles, users: Sequence[User]) -> list[str]:
    """Return the names of users that a fleet file once asked for and no longer does."""
    wanted = {user.name for user in users}
    return [entry.name for entry in found.users if entry.comment == COMMENT and entry.name not in wanted]


def _make_account(host: Host, found: AccountFiles, user: User, home: str) -> None:
    entry = found.user(user.name)
    if entry is None:
        # No home: it may be on shared storage, where `make_home` makes it. No password matches `*`; with `!`, sshd
        # would take the whole account for locked where it does without PAM.
        host.run(
            "useradd", "--uid", str(user.uid), "--gid", str(user.gid), "--no-create-home", "--home-dir", home,
            "--shell", _SHELL, "--comment", COMMENT, "--password", "*", user.name,
            changes=f"made the user {user.name}",
        )  # fmt: skip
        return
    if entry.comment != COMMENT:
        return  # The image's own user, e.g. ubuntu: the platform cares for it.
    if entry.home != home:
        # Its files are not moved: the old home may be on another disk, and in use.
        host.run("usermod", "--home", home, user.name, changes=f"gave {user.name} the home {home}")
    if user.name not in found.locked:
        # A `useradd` that is killed between /etc/passwd and /etc/shadow leaves the one without the other. Without
        # --expiredate, usermod would not make the missing line.
        host.run(
            "usermod", "--password", "*", "--expiredate", "", user.name,
            changes=f"locked the password of {user.name}",
        )  # fmt: skip
