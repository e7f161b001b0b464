"""The users of a cluster's nodes: names, ids, keys and accounts that every node can take alike."""

from collections.abc import Iterator, Sequence

from llm_fleet.catalog.nodes import node_user_facts
from llm_fleet.rules.bare_text import check_not_bare
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_protocols import UserLike
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.ssh_keys import check_ssh_key
from llm_fleet.rules.tokens import is_unresolved


def check_users(users: Sequence[UserLike]) -> list[Problem]:
    """Return what is wrong with `users`, each under its index."""
    return [
        *(problem.under(index) for index, user in enumerate(users) for problem in check_user(user)),
        *_twice(users),
    ]


def check_user(user: UserLike) -> list[Problem]:
    """Return what is wrong with `user` by itself."""
    ids = [("uid", user.uid), *([("gid", user.gid)] if user.gid is not None else [])]
    return [
        *_name(user.name),
        *(problem for attribute, number in ids for problem in _id(attribute, number)),
        *_keys(user.ssh_public_keys),
        *_account(user.slurm_account),
    ]


def _keys(keys: Sequence[str]) -> list[Problem]:
    return check_not_bare(keys, Code.USER_KEY, "ssh_public_keys") or [
        problem.under("ssh_public_keys", index) for index, key in enumerate(keys) for problem in check_ssh_key(key)
    ]


def _name(name: str) -> Iterator[Problem]:
    facts = node_user_facts()
    if is_unresolved(name):
        return
    if not facts.name_form.fullmatch(name):
        mended = "".join(character for character in name.lower() if character.isascii() and character.isalnum())
        mended = mended.lstrip("0123456789")[:32]
        yield Problem(
            code=Code.USER_NAME,
            message="Linux takes no such user name",
            remedy=f"write {mended!r}" if mended else "write a word of lower-case letters",
            path=("name",),
            value=name,
            allowed="1 to 32 lower-case letters, digits, hyphens and underscores; a letter or underscore first",
        )
    elif name in facts.taken_names:
        yield Problem(
            code=Code.USER_NAME,
            message="the system of the nodes has a user or group of this name already",
            remedy=f"choose another name, e.g. '{name[:29]}-ml'",
            path=("name",),
            value=name,
        )


def _id(attribute: str, number: int) -> Iterator[Problem]:
    facts = node_user_facts()
    if is_unresolved(number):
        return
    fault = _id_fault(number)
    if fault is not None:
        yield Problem(
            code=Code.USER_ID,
            message=f"no user of a fleet can have this id: {fault}",
            remedy=f"take an id from {facts.first_id} on, e.g. {facts.example_id}, and never change it again: "
            "files belong to ids, not to names",
            path=(attribute,),
            value=number,
        )


def _id_fault(number: object) -> str | None:
    facts = node_user_facts()
    # Not every user has a type checker, and a comparison would fail with a traceback.
    if type(number) is not int:
        return "it is no whole number"
    if number < facts.first_id:
        return f"ids below {facts.first_id} are of the system and of the image's own user"
    if number > facts.last_id:
        return "file systems know no such id"
    return next((why for first, last, why in facts.taken_ids if first <= number <= last), None)


def _account(account: str | None) -> Iterator[Problem]:
    if account is None or is_unresolved(account):
        return
    # Not every user has a type checker.
    if isinstance(account, str) and node_user_facts().account_form.fullmatch(account):  # pyright: ignore[reportUnnecessaryIsInstance]
        return
    yield Problem(
        code=Code.USER_ACCOUNT,
        message="Slurm keeps account names in lower case and reads blanks and commas as the name's end",
        remedy=f"write {_mended_account(str(account))!r}",
        path=("slurm_account",),
        value=account,
        allowed="lower-case letters, digits, dots, hyphens and underscores",
    )


def _mended_account(account: str) -> str:
    kept = "".join(character if character.isascii() and character.isalnum() else "-" for character in account.lower())
    return kept.strip("-")[:63] or "research"


def _twice(users: Sequence[UserLike]) -> Iterator[Problem]:
    names: dict[str, int] = {}
    ids: dict[int, str] = {}
    for index, user in enumerate(users):
        if names.setdefault(user.name, index) != index:
            yield Problem(
                code=Code.USER_TWICE,
                message=f"two users are called {user.name!r}",
                remedy="give each a name of its own",
                path=(index, "name"),
                value=user.name,
            )
        elif ids.setdefault(user.uid, user.name) != user.name:
            yield Problem(
                code=Code.USER_TWICE,
                message=f"{ids[user.uid]} and {user.name} have one user id, so each could do what the other can",
                remedy="give each an id of its own",
                path=(index, "uid"),
                value=user.uid,
            )
