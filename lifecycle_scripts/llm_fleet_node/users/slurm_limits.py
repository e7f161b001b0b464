"""The limits of Slurm's accounts: read from slurmdbd, set if they differ, and removed if the fleet no longer has them.

Manual entries are kept: accounts, users and QOS that are not in the fleet file are ignored. An account of the fleet is
marked with its organization; when it is removed from the fleet file, its limits are removed, and it stays with its
records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.people_parts import SlurmAccount, SlurmAccounts
from llm_fleet_node.users.limit_values import NONE, as_number, as_resources, differ
from llm_fleet_node.users.slurm_accounts import was_there

ORGANIZATION = "made by llm-fleet"
"""Organization that marks the fleet's accounts in the database. Slurm's default is the account's name."""
_COUNTS = ("Fairshare", "GrpJobs", "GrpSubmitJobs", "MaxJobs", "MaxSubmitJobs", "MaxWall")
_RESOURCES = ("GrpTRES", "MaxTRES")
_FORMAT = ",".join(("Account", "User", "ParentName", *_COUNTS, *_RESOURCES))


@dataclass(frozen=True)
class Limits:
    """An account of a cluster in slurmdbd."""

    parent: str
    values: dict[str, str]
    """Limits by option, in sacctmgr's format; empty for no limit."""


def read_limits(host: Host, cluster: str) -> dict[str, Limits]:
    """Return each account of `cluster` with its limits. Raises `CommandFailed` if slurmdbd does not answer."""
    said = host.run(
        "sacctmgr", "--noheader", "--parsable2", "show", "associations", f"cluster={cluster}", f"format={_FORMAT}"
    )
    found: dict[str, Limits] = {}
    for line in said.splitlines():
        account, user, parent, *values = f"{line}||".split("|")[: len(_COUNTS + _RESOURCES) + 3]
        if account and not user and len(values) == len(_COUNTS + _RESOURCES):
            found[account] = Limits(
                parent, {option: values[place] for place, option in enumerate(_COUNTS + _RESOURCES)}
            )
    return found


def wanted_changes(account: SlurmAccount, found: Limits) -> list[str]:
    """Return the arguments of sacctmgr that correct `account`; empty if it is correct."""
    words = [f"Parent={account.parent}"] if found.parent != account.parent else []
    for option, limit in account.counts:
        wanted = (
            1 if limit is None and option == "Fairshare" else limit
        )  # Slurm's default share, which cannot be removed
        if as_number(option, found.values[option]) != wanted:
            words.append(f"{option}={NONE if wanted is None else wanted}")
    for option, limits in account.resources:
        there, wanted_limits = as_resources(found.values[option]), dict(limits)
        names = sorted({*there, *wanted_limits})
        wrong = [name for name in names if differ(name, there.get(name), wanted_limits.get(name))]
        if wrong:
            words.append(f"{option}=" + ",".join(f"{name}={wanted_limits.get(name, NONE)}" for name in wrong))
    return words


def apply_limits(host: Host, cluster: str, accounts: SlurmAccounts) -> None:
    """Make the tree of `accounts` in `cluster` with its limits; remove the limits of accounts that it no longer has."""
    found = read_limits(host, cluster)
    marked = _marked(host)
    for account in accounts.tree:
        if account.name not in found:
            _add(host, cluster, account)
            found = read_limits(host, cluster)
        elif account.name not in marked:
            _modify(host, ["account", "where", f"name={account.name}", "set", f"organization={ORGANIZATION}"])
        words = wanted_changes(account, found[account.name])
        if words:
            where = ["account", "where", f"name={account.name}", f"cluster={cluster}", "set", *words]
            _modify(host, where, what=f"set {' '.join(words)} for the Slurm account {account.name}")
    for name, words in left_behind(accounts.tree, found, marked).items():
        where = ["account", "where", f"name={name}", f"cluster={cluster}", "set", *words]
        _modify(host, where, what=f"removed the limits of the Slurm account {name}, which is no longer in the fleet")


def limit_problems(host: Host, cluster: str, accounts: SlurmAccounts) -> list[str]:
    """Describe the differences between slurmdbd and `accounts`."""
    found = read_limits(host, cluster)
    problems = [f"the account {account.name} does not exist" for account in accounts.tree if account.name not in found]
    for account in accounts.tree:
        words = wanted_changes(account, found[account.name]) if account.name in found else []
        if words:
            problems.append(f"{account.name} lacks {' '.join(words)}")
    for name, words in left_behind(accounts.tree, found, _marked(host)).items():
        problems.append(f"{name}, which is no longer in the fleet, lacks {' '.join(words)}")
    return problems


def left_behind(tree: Sequence[SlurmAccount], found: dict[str, Limits], marked: set[str]) -> dict[str, list[str]]:
    """Return what to set for accounts that were removed from the fleet, to remove their limits."""
    named = {account.name for account in tree}
    gone = [name for name in found if name in marked and name not in named]
    bare = {name: SlurmAccount(name, found[name].parent, _no_counts(), _no_resources()) for name in gone}
    changes = {name: wanted_changes(account, found[name]) for name, account in bare.items()}
    return {name: words for name, words in changes.items() if words}


def _no_counts() -> tuple[tuple[str, None], ...]:
    return tuple((option, None) for option in _COUNTS)


def _no_resources() -> tuple[tuple[str, tuple[()]], ...]:
    return tuple((option, ()) for option in _RESOURCES)


def _marked(host: Host) -> set[str]:
    said = host.run("sacctmgr", "--noheader", "--parsable2", "show", "account", "format=Account,Organization")
    rows = [line.split("|") for line in said.splitlines() if line.count("|") == 1]
    return {account for account, organization in rows if organization == ORGANIZATION}


def _add(host: Host, cluster: str, account: SlurmAccount) -> None:
    try:
        host.run(
            "sacctmgr", "--immediate", "add", "account", f"name={account.name}", f"cluster={cluster}",
            f"parent={account.parent}", f"organization={ORGANIZATION}",
            changes=f"made the Slurm account {account.name}",
        )  # fmt: skip
    except CommandFailed as error:
        # Another cluster of the same database, or an administrator, was faster. `verify` decides.
        if not was_there(error):
            raise


def _modify(host: Host, words: Sequence[str], *, what: str = "") -> None:
    try:
        host.run("sacctmgr", "--immediate", "modify", *words, changes=what or f"marked {words[2]} as the fleet's")
    except CommandFailed as error:
        if "othing modified" not in error.output:
            raise
