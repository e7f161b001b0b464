"""Makes the fleet's users and groups on a node, with the same numbers everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import User
from llm_fleet_node.users.account_files import AccountFiles
from llm_fleet_node.users.account_locks import wait_until_free

COMMENT = "llm-fleet"
"""Comment in `/etc/passwd` that marks users from a fleet file."""
_SHELL = "/bin/bash"


def conflicts(found: AccountFiles, users: Sequence[User]) -> list[str]:
    """Describe conflicts of `users` on the node: a name with another id, or an id with another name."""
    problems: list[str] = []
    for user in users:
        same_name, same_uid = found.user(user.name), found.uid(user.uid)
        if same_name and (same_name.uid, same_name.gid) != (user.uid, user.gid):
            problems.append(
                f"user {user.name} has uid {same_name.uid} and gid {same_name.gid} here, "
                f"but must have uid {user.uid} and gid {user.gid}"
            )
        if same_uid and same_uid.name != user.name:
            problems.append(f"uid {user.uid} of {user.name} belongs to {same_uid.name} here")
    for gid, name in group_names(users).items():
        number, holder = found.gid(name), found.group(gid)
        if number not in (None, gid):
            problems.append(f"group {name} has gid {number} here, but must have gid {gid}")
        if holder not in (None, name):
            # Not shared: the user would get the permissions of the existing group.
            problems.append(f"gid {gid} of group {name} belongs to {holder} here")
    return problems


def group_names(users: Sequence[User]) -> dict[int, str]:
    """Return the groups of `users` by gid: named as the user, or `fleet-<gid>` if several users share it."""
    members: dict[int, list[str]] = {}
    for user in users:
        members.setdefault(user.gid, []).append(user.name)
    return {gid: names[0] if len(names) == 1 else f"fleet-{gid}" for gid, names in members.items()}


def make_accounts(host: Host, users: Sequence[User], homes: dict[str, str]) -> None:
    """Make `users` and their groups, without passwords; `homes` by name. Correct accounts are not changed.

    Raises `Failure` for conflicts, before anything is changed.
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
    """Describe what is missing for `users`, without conflicts."""
    groups = [f"the group {name} does not exist" for name in group_names(users).values() if found.gid(name) is None]
    problems: list[str] = []
    for user in users:
        entry = found.user(user.name)
        if entry is None:
            problems.append(f"the user {user.name} does not exist")
        elif entry.comment == COMMENT and entry.home != homes[user.name]:
            problems.append(f"the home of {user.name} is {entry.home}, not {homes[user.name]}")
        elif entry.comment == COMMENT and user.name not in found.locked:
            problems.append(f"the password of {user.name} is not locked")
    return groups + problems


def no_longer_wanted(found: AccountFiles, users: Sequence[User]) -> list[str]:
    """Return the names of users that were removed from the fleet file."""
    wanted = {user.name for user in users}
    return [entry.name for entry in found.users if entry.comment == COMMENT and entry.name not in wanted]


def _make_account(host: Host, found: AccountFiles, user: User, home: str) -> None:
    entry = found.user(user.name)
    if entry is None:
        # No home: it may be on shared storage, where `make_home` makes it. No password matches `*`; with `!`, sshd
        # without PAM would treat the whole account as locked.
        host.run(
            "useradd", "--uid", str(user.uid), "--gid", str(user.gid), "--no-create-home", "--home-dir", home,
            "--shell", _SHELL, "--comment", COMMENT, "--password", "*", user.name,
            changes=f"made the user {user.name}",
        )  # fmt: skip
        return
    if entry.comment != COMMENT:
        return  # The image's own user, e.g. ubuntu: the platform manages it.
    if entry.home != home:
        # Files are not moved: the old home may be on another disk, and in use.
        host.run("usermod", "--home", home, user.name, changes=f"gave {user.name} the home {home}")
    if user.name not in found.locked:
        # A `useradd` that is killed between /etc/passwd and /etc/shadow leaves no line in /etc/shadow. Without
        # --expiredate, usermod would not add it.
        host.run(
            "usermod", "--password", "*", "--expiredate", "", user.name,
            changes=f"locked the password of {user.name}",
        )  # fmt: skip
