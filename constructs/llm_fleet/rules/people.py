"""People of one cluster: Slurm's accounts with their limits, whether these hold, and a directory that knows people.

Users and their homes are in `node_users`, the user of a session in `session_document`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.nodes import node_user_facts, slurm_limit_facts
from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import LifecycleHook, SlurmConfigStrategy
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount


def check_people(
    *,
    users: Sequence[ClusterUser],
    slurm_accounts: Sequence[SlurmAccount],
    directory: Directory | None,
    certificate_text: str | None,
    has_accounting: bool,
    on_parallelcluster: bool,
    pinned: Sequence[str] | None,
) -> list[Problem]:
    """Return everything that is wrong with the people of a cluster, by these names and by indices.

    - `certificate_text`: the authority of the directory, where it goes to the nodes; empty for a file that cannot be
      read.
    - `has_accounting`: whether Slurm keeps records.
    - `on_parallelcluster`: whether the platform asks a directory by itself.
    - `pinned`: names of the packages that nodes may fetch; `None` where they fetch nothing, or the lock file cannot be
      read.
    """
    found = check_slurm_accounts(slurm_accounts, users, has_accounting=has_accounting)
    if directory is None:
        return found
    reported = check_directory(
        directory, users, certificate_text=certificate_text, on_parallelcluster=on_parallelcluster
    )
    if not (on_parallelcluster or directory.sssd_on_image):
        reported += check_sssd_packages(pinned)
    return [*found, *(problem.under("directory") for problem in reported)]


_COUNTS = ("fairshare", "grp_jobs", "grp_submit_jobs", "max_jobs", "max_submit_jobs", "max_wall_minutes")
_RESOURCES = ("grp_tres", "max_tres_per_job")


def check_slurm_accounts(
    accounts: Sequence[SlurmAccount], users: Sequence[ClusterUser], *, has_accounting: bool
) -> list[Problem]:
    """Return what is wrong with `accounts`, under `slurm_accounts` and their index, and with who has which of them.

    `has_accounting`: Slurm keeps records, without which there are no accounts at all.
    """
    if not accounts or is_unresolved(accounts):
        return []
    own = [
        *_tree(accounts),
        *(problem.under(index) for index, account in enumerate(accounts) for problem in _check_account(account)),
    ]
    reported = [*_no_accounting(has_accounting), *(problem.under("slurm_accounts") for problem in own)]
    return [*reported, *(problem.under("users") for problem in _members(accounts, users))]


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
        yield account.wrong(
            "name",
            PeopleCode.ACCOUNT_NAME,
            "Slurm keeps account names in lower case and reads blanks and commas as the name's end",
            "write lower-case letters, digits, dots, hyphens and underscores",
        )
    if account.name in (slurm_limit_facts().root_account, slurm_limit_facts().image_account):
        yield account.wrong(
            "name",
            PeopleCode.ACCOUNT_NAME,
            "this account is there already: limits on it would bind administrators, or whoever repairs nodes",
            "choose another name",
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


_ENFORCE = "accountingstorageenforce"


@rule
def check_hyperpod_enforces(hook: str | None, strategy: SlurmConfigStrategy | None) -> Iterator[Problem]:
    """Return a problem where HyperPod would not let our line in slurm.conf stand.

    `hook`: when the controller runs our scripts; `OnCreate` makes slurm.conf ours. Else the AMI has written it, and
    with `Merge`, which Continuous provisioning implies, what is added to it stays.
    """
    if hook == LifecycleHook.ON_INIT_COMPLETE and strategy not in (None, SlurmConfigStrategy.MERGE):
        yield _unenforced(
            f"limits hold only where slurm.conf has AccountingStorageEnforce, and {strategy} takes such a line out "
            "again, or has every update refused",
            "use Continuous provisioning or the strategy Merge, or let the controller run scripts by OnCreate",
        )


def check_parallelcluster_enforces(lines: Sequence[Mapping[str, Any]], file: str | None) -> Iterator[Problem]:
    """Yield what keeps ParallelCluster from enforcing limits: settings of the user's own, `lines` or in a `file`."""
    if file is not None:
        yield _unenforced(
            "limits hold only where slurm.conf has AccountingStorageEnforce, and nobody looks into a file of settings",
            "write the settings themselves in place of the file",
        )
    if is_unresolved(lines):
        return
    for line in lines:
        for key, value in line.items():
            missing = {*slurm_limit_facts().enforce} - {*str(value).lower().split(",")}
            if key.lower() == _ENFORCE and missing and not is_unresolved(value):
                yield _unenforced(
                    f"your own AccountingStorageEnforce lacks {' and '.join(sorted(missing))}, so no limit would hold",
                    "leave it out: it is written for you",
                )


def _unenforced(what: str, how: str) -> Problem:
    return Problem(code=PeopleCode.ENFORCE, message=what, remedy=how, path=("slurm_accounts",))


_URI = re.compile(r"(ldaps?)://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?")
_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+")
_DN = re.compile(r"\s*[A-Za-z][A-Za-z0-9-]*\s*=.+")
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_GROUP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]*")
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
"""Begins every certificate in PEM."""
_PRIVATE = "PRIVATE KEY-----"
SSSD_PACKAGES = ("sssd", "sssd-ldap")
"""What nodes install where the image has no SSSD."""
_FORMS = {
    "domain": (_DOMAIN, "a directory's DNS name", "corp.example.com"),
    "base_dn": (_DN, "a distinguished name", "dc=corp,dc=example,dc=com"),
    "bind_dn": (_DN, "a distinguished name", "cn=reader,ou=services,dc=corp,dc=example,dc=com"),
    "ssh_public_key_attribute": (_ATTRIBUTE, "an attribute of LDAP", "sshPublicKey"),
    "home": (re.compile(r"(/[A-Za-z0-9_.@%+-]+)*/%u"), "a path that ends with `/%u`, the login name", "/home/%u"),
    "test_user": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*"), "a login name", "ada"),
}


def check_directory(
    directory: Directory, users: Sequence[ClusterUser], *, certificate_text: str | None, on_parallelcluster: bool
) -> list[Problem]:
    """Return what is wrong with `directory`, by its attributes; `users` are those that nodes make themselves.

    `certificate_text`: of the file that goes to the nodes; empty for one that cannot be read.
    """
    return [
        *_uris(directory),
        *(problem for attribute in _FORMS for problem in _form(attribute, getattr(directory, attribute))),
        *(problem for name in ("user_filter", "group_filter") for problem in _filter(name, getattr(directory, name))),
        *_groups(directory.sudo_groups),
        *_certificate(directory, certificate_text, on_parallelcluster),
        *_ids(directory, users),
    ]


@rule
def check_sssd_packages(names: Sequence[str] | None) -> Iterator[Problem]:
    """Return a problem when no file pinned for nodes is SSSD's; `names`: of the lock file, `None` for no downloads."""
    if names is None or not all(package in names for package in SSSD_PACKAGES):
        yield Problem(
            code=PeopleCode.DIRECTORY_PACKAGES,
            message="nodes ask a directory by SSSD, which AWS's HyperPod images do not promise, and nodes fetch nothing"
            if names is None
            else f"nodes ask a directory by SSSD, and the lock file has no {' and no '.join(SSSD_PACKAGES)}",
            remedy="use an image with SSSD and say `sssd_on_image`, or pin "
            f"{' and '.join(SSSD_PACKAGES)} with `llm-fleet mirror lock` and name the lock file under `downloads`",
            path=("sssd_on_image",),
        )


def directory_twice(key: str) -> Problem:
    """Return the problem of a ParallelCluster whose own section says something else than `key`."""
    return Problem(
        code=PeopleCode.DIRECTORY_TWICE,
        message="the directory is told here, and once more in the section `DirectoryService` of `overrides`",
        remedy="keep one of the two",
        path=(key,),
    )


def _uris(directory: Directory) -> Iterator[Problem]:
    if not directory.uris:
        yield _uri((), "nobody tells where the directory is", "write e.g. ['ldaps://ldap.corp.example.com']", None)
    for index, uri in enumerate(directory.uris):
        if is_unresolved(uri):
            continue
        form = _URI.fullmatch(uri)
        if form is None:
            yield _uri((index,), "this is no address of a directory", "write e.g. 'ldaps://ldap.corp.example.com'", uri)
        elif form[1] == "ldap" and not directory.start_tls:
            yield _uri(
                (index,),
                "passwords and ids would go over the network in the clear, and anyone there could give answers",
                f"write 'ldaps://{uri.partition('://')[2]}', or say `start_tls` where the server has it",
                uri,
            )
        elif form[1] == "ldaps" and directory.start_tls:
            yield _uri((index,), "ldaps:// is TLS from the first byte on, so there is nothing to start", "leave "
                       "`start_tls` out, or write ldap:// for a server that starts TLS itself", uri)  # fmt: skip


def _uri(where: tuple[int, ...], what: str, how: str, value: object) -> Problem:
    path = ("uris", *where)
    return Problem(code=PeopleCode.DIRECTORY_URI, message=what, remedy=how, path=path, value=value)


def _form(attribute: str, value: str | None) -> Iterator[Problem]:
    if value is None or is_unresolved(value):
        return
    form, what, example = _FORMS[attribute]
    # A line end would begin another setting of sssd.conf.
    if not value.isprintable() or not form.fullmatch(value):
        yield _value(attribute, value, f"this is not {what}", f"write e.g. {example!r}")


def _filter(attribute: str, value: str | None) -> Iterator[Problem]:
    if value is None or is_unresolved(value):
        return
    whole = value.isprintable() and value.startswith("(") and value.endswith(")")
    if not whole or value.count("(") != value.count(")"):
        example = "(memberOf=cn=fleet,ou=groups,dc=corp,dc=example,dc=com)"
        yield _value(attribute, value, "an LDAP filter stands in round brackets", f"write e.g. {example!r}")


def _groups(names: Sequence[str]) -> Iterator[Problem]:
    for name in names:
        if not is_unresolved(name) and not _GROUP.fullmatch(name):
            yield _value("sudo_groups", name, "sudo could not tell where this group's name ends", "write plain names")


def _value(attribute: str, value: object, what: str, how: str) -> Problem:
    code = PeopleCode.DIRECTORY_VALUE
    return Problem(code=code, message=what, remedy=how, path=(attribute,), value=value)


def _certificate(directory: Directory, text: str | None, on_parallelcluster: bool) -> Iterator[Problem]:
    fault, remedy = _certificate_fault(text, on_parallelcluster)
    if directory.certificate_on_nodes is None and fault:
        path = ("certificate",)
        yield Problem(code=PeopleCode.DIRECTORY_CERTIFICATE, message=fault, remedy=remedy, path=path)


def _certificate_fault(text: str | None, on_parallelcluster: bool) -> tuple[str, str]:
    """Return what is wrong with the file of authorities, and what to do; two empty words for nothing."""
    if not text:
        return "there is no such file, and without it nodes would believe anyone who calls himself the directory", (
            "write the path of a PEM file with the authority of its certificate, from where the fleet file or the "
            "program lies, or an absolute path in the image"
        )
    if _PRIVATE in text:
        return "this file holds a private key", "write the file of the authority's certificate, and no more"
    if CERTIFICATE not in text:
        return "this file holds no certificate in PEM", f"write a file that has a line {CERTIFICATE}"
    if on_parallelcluster:
        return "ParallelCluster asks the directory before it runs any script, so its nodes have no such file yet", (
            "build it into the image, and write the absolute path that it has there"
        )
    return "", ""


def _ids(directory: Directory, users: Sequence[ClusterUser]) -> Iterator[Problem]:
    first, last = directory.first_id, directory.last_id
    if is_unresolved((first, last)):
        return
    if not 0 < first <= last:
        yield _value("first_id", first, "the ids of the directory's people begin after they end", "write first and "
                     "last id, from the lower to the higher")  # fmt: skip
        return
    inside = [user for user in users if not is_unresolved(user.uid) and _meets(user, first, last)]
    if inside:
        names = ", ".join(f"{user.name} ({user.uid})" for user in inside)
        yield directory.wrong(
            "first_id",
            PeopleCode.DIRECTORY_IDS,
            f"{names} of `users` would have an id that the directory gives others, and own their files",
            f"give them ids below {first}, or begin the directory's own above {max(u.uid for u in inside)}",
        )


def _meets(user: ClusterUser, first: int, last: int) -> bool:
    group = user.uid if user.gid is None else user.gid
    return first <= user.uid <= last or (not is_unresolved(group) and first <= group <= last)
