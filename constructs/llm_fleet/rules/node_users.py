"""Rules of users on nodes: home folders, ids across a fleet, and the Session Manager document."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.nodes import node_user_facts, session_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.fields import Form, check_forms
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.people import ClusterUser

_LENGTH_BYTES = 4
"""A key's data begins with the length of its type, in this number of bytes, and the type (RFC 4253, 6.6)."""


@rule
def check_ssh_key(key: str) -> Iterator[Problem]:
    """Return what is wrong with the form of `key`."""
    fault = None if is_unresolved(key) else _fault(key)
    if fault is not None:
        yield Problem(
            code=Code.USER_KEY,
            message=f"this is not a public SSH key: {fault}",
            remedy="write the single line of the `.pub` file, e.g. of `ssh-keygen -t ed25519`",
            # The text is never shown completely: it may be a private key.
            value=f"{key[:20]}…" if "PRIVATE" not in key else "(a private key, not shown)",
            allowed=", ".join(node_user_facts().key_types),
        )


def _fault(key: str) -> str | None:
    if "PRIVATE KEY" in key:
        return "it is a private key, which must not leave its owner's machine. If it has, create a new key pair"
    if "\n" in key.strip() or "\r" in key:
        return "it has more than one line"
    kind, _, rest = key.strip().partition(" ")
    if kind not in node_user_facts().key_types:
        return "it does not begin with a key type"
    words = rest.split()
    return _data_fault(kind, words[0] if words else "")


def _data_fault(kind: str, data: str) -> str | None:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "the data after its type is incomplete"
    length = int.from_bytes(decoded[:_LENGTH_BYTES], "big")
    named = decoded[_LENGTH_BYTES : _LENGTH_BYTES + length]
    if named != kind.encode() or len(decoded) <= _LENGTH_BYTES + length:
        return f"the data after its type is not a complete key of type {kind}"
    return None


def check_users(users: Sequence[ClusterUser]) -> list[Problem]:
    """Return what is wrong with `users`, each under its index."""
    return [
        *(problem.under(index) for index, user in enumerate(users) for problem in check_user(user)),
        *_twice(users),
    ]


def check_user(user: ClusterUser) -> list[Problem]:
    """Return what is wrong with `user` by itself."""
    ids = [("uid", user.uid), *([("gid", user.gid)] if user.gid is not None else [])]
    return [
        *_name(user.name),
        *(problem for attribute, number in ids for problem in _id(attribute, number)),
        *_keys(user.ssh_public_keys),
        *_account(user.slurm_account),
    ]


def _keys(keys: Sequence[str]) -> list[Problem]:
    return [problem.under("ssh_public_keys", index) for index, key in enumerate(keys) for problem in check_ssh_key(key)]


def _name(name: str) -> Iterator[Problem]:
    facts = node_user_facts()
    if is_unresolved(name):
        return
    if not facts.name_form.fullmatch(name):
        repaired = "".join(character for character in name.lower() if character.isascii() and character.isalnum())
        repaired = repaired.lstrip("0123456789")[:32]
        yield Problem(
            code=Code.USER_NAME,
            message="this is not a valid user name in Linux",
            remedy=f"write `{repaired}`" if repaired else "write a word of lower-case letters",
            path=("name",),
            value=name,
            allowed="1 to 32 lower-case letters, digits, hyphens and underscores; a letter or underscore first",
        )
    elif name in facts.taken_names:
        yield Problem(
            code=Code.USER_NAME,
            message="the operating system of the nodes already has a user or group with this name",
            remedy=f"write another name, e.g. `{name[:29]}-ml`",
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
            message=f"users of a fleet cannot have this id: {fault}",
            remedy=f"write an id of at least {facts.first_id}, e.g. {facts.example_id}, and do not change it later: "
            "files belong to ids, not to names",
            path=(attribute,),
            value=number,
        )


def _id_fault(number: int) -> str | None:
    facts = node_user_facts()
    if number < facts.first_id:
        return f"ids below {facts.first_id} are reserved for the operating system and the image's own user"
    if number > facts.last_id:
        return f"it is above {facts.last_id}, the maximum of file systems"
    return next((taken.why for taken in facts.taken_ids if taken.first <= number <= taken.last), None)


def _account(account: str | None) -> Iterator[Problem]:
    if account is None or is_unresolved(account) or node_user_facts().account_form.fullmatch(account):
        return
    yield Problem(
        code=Code.USER_ACCOUNT,
        message="account names in Slurm must be in lower case, without spaces and commas",
        remedy=f"write `{_fixed_account(account)}`",
        path=("slurm_account",),
        value=account,
        allowed="lower-case letters, digits, dots, hyphens and underscores",
    )


def _fixed_account(account: str) -> str:
    kept = "".join(character if character.isascii() and character.isalnum() else "-" for character in account.lower())
    return kept.strip("-")[:63] or "research"


def _twice(users: Sequence[ClusterUser]) -> Iterator[Problem]:
    names: dict[str, int] = {}
    ids: dict[int, str] = {}
    for index, user in enumerate(users):
        if names.setdefault(user.name, index) != index:
            yield Problem(
                code=Code.USER_TWICE,
                message=f"two users have the name {user.name!r}",
                remedy="give each user a different name",
                path=(index, "name"),
                value=user.name,
            )
        elif ids.setdefault(user.uid, user.name) != user.name:
            yield Problem(
                code=Code.USER_TWICE,
                message=f"{ids[user.uid]} and {user.name} have the same user id, so that each has the other's "
                "permissions",
                remedy="give each user a different id",
                path=(index, "uid"),
                value=user.uid,
            )


def check_homes(users: Sequence[ClusterUser], *, shared_paths: Sequence[str], home_is_shared: bool) -> list[Problem]:
    """Return what is wrong with the homes of `users`, each under its index.

    `shared_paths`: mount paths of shared file systems. `home_is_shared`: the platform shares /home itself.
    """
    shared = [*shared_paths, *(["/home"] if home_is_shared else [])]
    with_home = [
        (index, user) for index, user in enumerate(users) if user.home is not None and not is_unresolved(user.home)
    ]
    faults = {index: _home_fault(user) for index, user in with_home}
    return [
        *(_wrong_home(index, user, faults[index]) for index, user in with_home if faults[index]),
        *(problem for index, user in with_home if not faults[index] for problem in _local_home(index, user, shared)),
        *_shared_homes([(index, user) for index, user in with_home if not faults[index]]),
    ]


def _home_fault(user: ClusterUser) -> str:
    path = str(user.home)
    parts = path.split("/")[1:]
    if not path.startswith("/") or not all(part and part not in (".", "..") for part in parts):
        return "it must be an absolute path, without `..` and without a slash at its end"
    if len(parts) < node_user_facts().home_depth:
        return "it must be a folder for one user only"
    if not node_user_facts().home_form.fullmatch(path):
        return "it contains a character that is not allowed in /etc/passwd or shells"
    if parts[0] in node_user_facts().system_folders:
        return f"/{parts[0]} is a folder of the operating system"
    return ""


def _wrong_home(index: int, user: ClusterUser, fault: str) -> Problem:
    return Problem(
        code=PeopleCode.HOME_PATH,
        message=f"this cannot be a home folder: {fault}",
        remedy=f"write e.g. `/home/{user.name}`, or remove it",
        path=(index, "home"),
        value=user.home,
    )


def _local_home(index: int, user: ClusterUser, shared: Sequence[str]) -> Iterator[Problem]:
    known = [path.rstrip("/") for path in shared if not is_unresolved(path)]
    if not known or len(known) < len(shared) or any(f"{user.home}/".startswith(f"{path}/") for path in known):
        return
    yield Problem(
        code=PeopleCode.HOME_LOCAL,
        message="this home folder is on the local disk of each node: it would differ by node, and be deleted with it",
        remedy=f"remove it, or write a folder on a shared file system, e.g. `{known[0]}/people/{user.name}`",
        path=(index, "home"),
        value=user.home,
        allowed=f"below {' or '.join(known)}",
    )


def _shared_homes(with_home: Sequence[tuple[int, ClusterUser]]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for index, user in with_home:
        owner = owners.setdefault(str(user.home), user.name)
        if owner != user.name:
            yield Problem(
                code=PeopleCode.HOME_TWICE,
                message=f"{owner} and {user.name} have the same home folder, which can belong to only one of them",
                remedy="give each user a different home folder",
                path=(index, "home"),
                value=user.home,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A user, and the place in the fleet that defines the user."""

    where: str
    """The place in words, e.g. `the fleet` or `cluster train`."""
    path: tuple[PathPart, ...]
    """The same place for a `Problem`."""
    user: ClusterUser

    @property
    def ids(self) -> tuple[int, int]:
        """User id and group id."""
        return self.user.uid, self.user.uid if self.user.gid is None else self.user.gid


def check_one_id_each(known: Sequence[Known], *, shares_files: bool) -> list[Problem]:
    """Return problems of users with different ids, and, when clusters share files, of ids with different users.

    Within one place `check_users` reports the latter; without shared files the ids do not conflict.
    """
    comparable = [one for one in known if not is_unresolved((one.user.name, one.user.uid, one.user.gid))]
    found = list(_two_ids(comparable))
    return [*found, *_shared_ids(comparable)] if shares_files else found


def check_ids_elsewhere(
    users: Sequence[ClusterUser], elsewhere: Mapping[str, Sequence[ClusterUser]], *, shares_files: bool
) -> list[Problem]:
    """Return problems of `users` that contradict users of other clusters (by cluster name), under their index."""
    others = [
        Known(where=f"cluster {name}", path=(), user=user) for name, theirs in elsewhere.items() for user in theirs
    ]
    own = [Known(where="this cluster", path=(index,), user=user) for index, user in enumerate(users)]
    return [problem for problem in check_one_id_each([*others, *own], shares_files=shares_files) if problem.path]


def _two_ids(known: Sequence[Known]) -> Iterator[Problem]:
    first: dict[str, Known] = {}
    for one in known:
        other = first.setdefault(one.user.name, one)
        if other.ids == one.ids:
            continue
        attribute = "uid" if other.user.uid != one.user.uid else "gid"
        ids = dict(zip(("uid", "gid"), zip(other.ids, one.ids, strict=True), strict=True))[attribute]
        yield Problem(
            code=PeopleCode.TWO_IDS,
            message=f"{one.user.name} has the {attribute} {ids[0]} in {other.where} and "
            f"{ids[1]} in {one.where}. Files belong to ids, so files of one could not be changed as the other",
            remedy=f"write `{attribute}: {ids[0]}`, or another login name if it is another person",
            path=(*one.path, attribute),
            value=ids[1],
        )


def _shared_ids(known: Sequence[Known]) -> Iterator[Problem]:
    first: dict[int, Known] = {}
    for one in known:
        other = first.setdefault(one.user.uid, one)
        if other.user.name != one.user.name and other.where != one.where:
            yield Problem(
                code=PeopleCode.SHARED_ID,
                message=f"{other.user.name} in {other.where} and {one.user.name} in {one.where} have the same user "
                "id, and their clusters share a file system: each could read and delete the other's files",
                remedy=f"give {one.user.name} an id that no other user of the fleet has",
                path=(*one.path, "uid"),
                value=one.user.uid,
            )


_CODE = PeopleCode.SESSION
_FORMS = {
    "log_group": Form(
        wanted="a log group",
        has=("log_group_name", "log_group_arn"),
        remedy="write a log group, e.g. LogGroup.from_log_group_name(…), or remove it",
        optional=True,
        code=_CODE,
    ),
    "log_group_is_encrypted": Form(wanted="True or False", types=(bool,), remedy="write True or False", code=_CODE),
    "log_bucket": Form(
        wanted="a bucket",
        has=("bucket_name", "bucket_arn"),
        remedy="write a bucket, e.g. Bucket.from_bucket_name(…), or remove it",
        optional=True,
        code=_CODE,
    ),
    "log_prefix": Form(wanted="text", types=(str,), remedy="write a prefix, e.g. `sessions`", code=_CODE),
    "key": Form(
        wanted="a KMS key",
        has=("key_arn", "key_id"),
        remedy="write a key, e.g. Key.from_key_arn(…), or remove it",
        optional=True,
        code=_CODE,
    ),
}


def check_session_document(given: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each parameter of a session document with a wrong type or value."""
    prefix = given["log_prefix"]
    found = check_forms(given, _FORMS)
    if isinstance(prefix, str) and (not prefix.strip("/") or prefix.strip("/") != prefix):
        found += [
            Problem(
                code=_CODE,
                message="the prefix of the logs must not be empty, or begin or end with a slash",
                remedy="write a prefix without slashes at its ends, e.g. `sessions`",
                path=("log_prefix",),
                value=prefix,
            )
        ]
    return found


def no_document(given: object) -> Problem:
    """Return the problem of a value that is not a session document."""
    return Problem(
        code=_CODE,
        message=f"this must be a SessionDocument, not {type(given).__name__}",
        remedy="pass a SessionDocument: the document's name does not contain its KMS key",
        path=("document",),
        value=given,
    )


@rule
def check_run_as(user: str, known: Sequence[str] | None) -> Iterator[Problem]:
    """Return what is wrong with sessions that run as `user`.

    `known`: the cluster's users; `None` when they are not all known, as with a directory.
    """
    if is_unresolved(user):
        return
    if not isinstance(user, str) or not node_user_facts().name_form.fullmatch(user):  # pyright: ignore[reportUnnecessaryIsInstance]
        yield _run_as(user, "this is not a valid login name", "write a name of `users`")
        return
    if user in session_facts().refused_users:
        yield _run_as(
            user, "Session Manager does not run sessions as root", "write a user with `sudo`, who can become root"
        )
        return
    if known is None or user in (*known, *session_facts().image_users) or is_unresolved(list(known)):
        return
    remedy = did_you_mean(user, known, otherwise="write one of the cluster's `users`, or add the user there")
    yield _run_as(
        user, "the cluster has no user with this name, so that Session Manager would reject every session", remedy
    )


def check_session_times(*, idle_minutes: int, duration_minutes: int | None) -> list[Problem]:
    """Return what is wrong with idle timeout and maximum duration of sessions."""
    facts = session_facts()
    return [
        *_minutes("idle_timeout_minutes", idle_minutes, facts.idle_minutes),
        *([] if duration_minutes is None else _minutes("max_minutes", duration_minutes, facts.duration_minutes)),
    ]


def cannot_tag(why: str, remedy: str) -> Problem:
    """Return the problem of a role to which the tag cannot be added."""
    return Problem(code=PeopleCode.RUN_AS, message=why, remedy=remedy, path=("role",))


def _run_as(user: object, message: str, remedy: str) -> Problem:
    return Problem(code=PeopleCode.RUN_AS, message=message, remedy=remedy, path=("user",), value=user)


def _minutes(attribute: str, minutes: object, allowed: tuple[int, int]) -> Iterator[Problem]:
    least, most = allowed
    # Not every user has a type checker.
    if is_unresolved(minutes) or (type(minutes) is int and least <= minutes <= most):
        return
    yield Problem(
        code=PeopleCode.SESSION,
        message=f"Session Manager requires {least} to {most} minutes",
        remedy=f"write a whole number of minutes, e.g. {min(20, most)}",
        path=(attribute,),
        value=minutes,
        allowed=f"{least} to {most} minutes",
    )
