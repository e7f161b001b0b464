"""The tree of Slurm accounts with its limits, and which account each user has."""

from collections.abc import Iterator, Mapping, Sequence

from llm_fleet.catalog.nodes import node_user_facts
from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.people import ClusterUser, SlurmAccount

_COUNTS = ("fairshare", "grp_jobs", "grp_submit_jobs", "max_jobs", "max_submit_jobs", "max_wall_minutes")
_RESOURCES = ("grp_tres", "max_tres_per_job")


def check_slurm_accounts(
    accounts: Sequence[SlurmAccount], users: Sequence[ClusterUser], *, has_accounting: bool
) -> list[Problem]:
    """Return what is wrong with `accounts`, under `slurm_accounts` and their index, and with who has which of them.

    `has_accounting`: Slurm keeps records, without which there are no accounts at all.
    """
    if not accounts:
        return []
    own = [
        *_tree(accounts),
        *(problem.under(index) for index, account in enumerate(accounts) for problem in _check_account(account)),
    ]
    told = [*_no_accounting(has_accounting), *(problem.under("slurm_accounts") for problem in own)]
    return [*told, *(problem.under("users") for problem in _members(accounts, users))]


def _no_accounting(has_accounting: bool) -> Iterator[Problem]:
    if not has_accounting:
        yield Problem(
            code=PeopleCode.NO_ACCOUNTING,
            message="Slurm keeps accounts and their limits in its accounting, and this cluster has none",
            remedy="give the cluster `accounting`, e.g. the fleet's own `slurm_database`, or leave the accounts out",
            path=("slurm_accounts",),
        )


def _check_account(account: SlurmAccount) -> Iterator[Problem]:
    if not is_unresolved(account.name) and not node_user_facts().account_form.fullmatch(account.name):
        yield Problem(
            code=PeopleCode.ACCOUNT_NAME,
            message="Slurm keeps account names in lower case and reads blanks and commas as the name's end",
            remedy="write lower-case letters, digits, dots, hyphens and underscores",
            path=("name",),
            value=account.name,
        )
    if account.name in (slurm_limit_facts().root_account, slurm_limit_facts().image_account):
        yield Problem(
            code=PeopleCode.ACCOUNT_NAME,
            message="this account is there already: limits on it would bind administrators, or whoever repairs nodes",
            remedy="choose another name",
            path=("name",),
            value=account.name,
        )
    for attribute in _COUNTS:
        largest = slurm_limit_facts().largest
        yield from _count(attribute, getattr(account, attribute), largest.get(attribute, largest["count"]))
    for attribute in _RESOURCES:
        yield from _resources(attribute, getattr(account, attribute))


def _count(attribute: str, number: int | None, largest: int) -> Iterator[Problem]:
    if number is None or is_unresolved(number):
        return
    if not 0 <= number <= largest:
        yield Problem(
            code=PeopleCode.ACCOUNT_LIMIT,
            message="a limit is a whole number; to Slurm, 0 means none at all, and no limit is told by leaving it out",
            remedy="write a number from 0 on, or leave it out for no limit",
            path=(attribute,),
            value=number,
            allowed=f"0 to {largest}",
        )


def _resources(attribute: str, given: Mapping[str, int]) -> Iterator[Problem]:
    # A token may stand for the whole: which resources Slurm has to count must be known when the scripts are made.
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        yield Problem(
            code=PeopleCode.ACCOUNT_TRES,
            message="what may be had is told by resource",
            remedy="write e.g. {'node': 16, 'gres/gpu': 128}",
            path=(attribute,),
            value=given,
        )
        return
    for name, number in given.items():
        if not slurm_limit_facts().tres_form.fullmatch(name):
            yield Problem(
                code=PeopleCode.ACCOUNT_TRES,
                message="Slurm counts no such resource (TRES)",
                remedy=did_you_mean(
                    name, (*slurm_limit_facts().counted, "gres/gpu"), otherwise="write e.g. 'node', or 'gres/gpu'"
                ),
                path=(attribute, name),
                value=name,
                allowed=f"{', '.join(slurm_limit_facts().counted)}, gres/<name>, license/<name>",
            )
        else:
            found = _count(name, number, slurm_limit_facts().largest["resource"])
            yield from (problem.under(attribute) for problem in found)


def _tree(accounts: Sequence[SlurmAccount]) -> Iterator[Problem]:
    parents = {account.name: account.parent for account in accounts}
    names: set[str] = set()
    for index, account in enumerate(accounts):
        if account.name in names:
            yield _of_tree("two accounts have this name", "give each a name of its own", index, "name", account.name)
        names.add(account.name)
        if account.parent is None or is_unresolved(account.parent):
            continue
        if account.parent not in parents:
            remedy = did_you_mean(account.parent, list(parents), otherwise="write it among the accounts, too")
            yield _of_tree("there is no such account to be below", remedy, index, "parent", account.parent)
        elif _is_above_itself(account.name, parents):
            message = "the account is below itself, so the tree has no root"
            yield _of_tree(message, "leave `parent` out at the topmost account", index, "parent", account.parent)


def _is_above_itself(name: str, parents: Mapping[str, str | None]) -> bool:
    above, seen = parents.get(name), set[str]()
    while above is not None and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = parents.get(above)
    return False


def _of_tree(message: str, remedy: str, index: int, attribute: str, value: str) -> Problem:
    path = (index, attribute)
    return Problem(code=PeopleCode.ACCOUNT_PARENT, message=message, remedy=remedy, path=path, value=value)


def _members(accounts: Sequence[SlurmAccount], users: Sequence[ClusterUser]) -> Iterator[Problem]:
    names = [account.name for account in accounts]
    for index, user in enumerate(users):
        if user.slurm_account is None:
            yield Problem(
                code=PeopleCode.USER_WITHOUT_ACCOUNT,
                message=f"where limits hold, who has no Slurm account can submit no job, and {user.name} has none",
                remedy=f"give {user.name} an account, e.g. {names[0]!r}",
                path=(index, "slurm_account"),
                allowed=", ".join(names),
            )
        elif user.slurm_account not in names and not is_unresolved((user.slurm_account, names)):
            yield Problem(
                code=PeopleCode.ACCOUNT_UNKNOWN,
                message="there is no such account in `slurm_accounts`",
                remedy=did_you_mean(user.slurm_account, names, otherwise="write it among the accounts, too"),
                path=(index, "slurm_account"),
                value=user.slurm_account,
                allowed=", ".join(names),
            )
