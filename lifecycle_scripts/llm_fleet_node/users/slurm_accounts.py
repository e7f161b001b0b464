"""The users' accounts in Slurm's accounting, read and made with sacctmgr."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.manifest_parts import User

_SETTING = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def accounting_cluster(host: Host) -> Optional[str]:
    """Return the cluster name of the running Slurm's accounting; `None` if it keeps no records."""
    settings = dict(_SETTING.findall(host.run("scontrol", "show", "config")))
    if settings.get("AccountingStorageType") != "accounting_storage/slurmdbd":
        return None
    return settings["ClusterName"]


@dataclass(frozen=True)
class Associations:
    """Accounts and users of one cluster. A database can have several clusters."""

    cluster: str
    accounts: frozenset[str]
    members: frozenset[tuple[str, str]]
    """Accounts with their users."""

    @classmethod
    def read(cls, host: Host, cluster: str) -> Associations:
        """Query slurmdbd. Raises `CommandFailed` if it does not answer."""
        said = host.run(
            "sacctmgr", "--noheader", "--parsable2", "show", "associations", f"cluster={cluster}",
            "format=Account,User",
        )  # fmt: skip
        rows = [tuple(line.split("|")) for line in said.splitlines() if line.count("|") == 1]
        return cls(
            cluster,
            frozenset(account for account, user in rows if not user),
            frozenset((account, user) for account, user in rows if user),
        )

    def missing(self, users: Sequence[User]) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the missing accounts, and the missing pairs of account and user, of `users`."""
        wanted = [(user.slurm_account, user.name) for user in users if user.slurm_account]
        accounts = dict.fromkeys(account for account, _ in wanted if account not in self.accounts)
        return list(accounts), [pair for pair in wanted if pair not in self.members]


def make_missing(host: Host, found: Associations, users: Sequence[User]) -> None:
    """Add what `users` lack in the cluster of `found`. Other entries are kept, also a user's default account."""
    accounts, members = found.missing(users)
    for account in accounts:
        _add(host, found.cluster, "account", f"name={account}", what=f"made the Slurm account {account}")
    for account, user in members:
        _add(
            host, found.cluster, "user", f"name={user}", f"account={account}",
            what=f"added {user} to the Slurm account {account}",
        )  # fmt: skip


def _add(host: Host, cluster: str, *entity: str, what: str) -> None:
    try:
        host.run("sacctmgr", "--immediate", "add", *entity, f"cluster={cluster}", changes=what)
    except CommandFailed as error:
        # Another cluster of the same database, or an administrator, was faster. `verify` decides.
        if not was_there(error):
            raise


def was_there(error: CommandFailed) -> bool:
    """Return whether sacctmgr reports an existing entry: 24.11 has different messages for each entity (tested)."""
    return any(words in error.output for words in ("othing new added", "othing added", "lready existing"))


def put_image_user(host: Host, found: Associations, user: str, account: str) -> None:
    """Add the image's own `user` to `account` if limits are enforced: otherwise it cannot submit jobs. Empty: no user.

    A user who already has any account keeps it.
    """
    if not user or any(member == user for _, member in found.members):
        return
    if account not in found.accounts:
        _add(host, found.cluster, "account", f"name={account}", what=f"made the Slurm account {account}")
    _add(
        host, found.cluster, "user", f"name={user}", f"account={account}",
        what=f"added {user} to the Slurm account {account}",
    )  # fmt: skip
