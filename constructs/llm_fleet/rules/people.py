"""Rules of Slurm accounts with their limits, the enforcement of limits, and an LDAP directory of users.

Rules of users, their home folders and sessions are in `node_users`.
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
    """Return everything that is wrong with users, accounts and directory of a cluster, by these names and indices.

    - `certificate_text`: the certificate of the directory's CA, if it is copied to nodes; empty for a file that cannot
      be read.
    - `has_accounting`: whether Slurm accounting is enabled.
    - `on_parallelcluster`: whether the platform queries the directory itself.
    - `pinned`: names of the packages that nodes may download; `None` without downloads, or when the lock file cannot be
      read.
    """
    found = check_slurm_accounts(slurm_accounts, users, has_accounting=has_accounting)
    if directory is None:
        return found
    of_directory = check_directory(
        directory, users, certificate_text=certificate_text, on_parallelcluster=on_parallelcluster
    )
    if not (on_parallelcluster or directory.sssd_on_image):
        of_directory += check_sssd_packages(pinned)
    return [*found, *(problem.under("directory") for problem in of_directory)]


_COUNTS = ("fairshare", "grp_jobs", "grp_submit_jobs", "max_jobs", "max_submit_jobs", "max_wall_minutes")
_RESOURCES = ("grp_tres", "max_tres_per_job")


def check_slurm_accounts(
    accounts: Sequence[SlurmAccount], users: Sequence[ClusterUser], *, has_accounting: bool
) -> list[Problem]:
    """Return what is wrong with `accounts`, under `slurm_accounts` and their index, and with the accounts of users.

    `has_accounting`: Slurm accounting is enabled, which accounts require.
    """
    if not accounts or is_unresolved(accounts):
        return []
    own = [
        *_tree(accounts),
        *(problem.under(index) for index, account in enumerate(accounts) for problem in _check_account(account)),
    ]
    of_accounts = [*_no_accounting(has_accounting), *(problem.under("slurm_accounts") for problem in own)]
    return [*of_accounts, *(problem.under("users") for problem in _members(accounts, users))]


def _no_accounting(has_accounting: bool) -> Iterator[Problem]:
    if not has_accounting:
        yield Problem(
            code=PeopleCode.NO_ACCOUNTING,
            message="`slurm_accounts` requires Slurm accounting, which this cluster does not have",
            remedy="set the cluster's `accounting`, e.g. to the fleet's `slurm_database`, or remove the accounts",
            path=("slurm_accounts",),
        )


def _check_account(account: SlurmAccount) -> Iterator[Problem]:
    if not is_unresolved(account.name) and not node_user_facts().account_form.fullmatch(account.name):
        yield account.wrong(
            "name",
            PeopleCode.ACCOUNT_NAME,
            "account names in Slurm must be in lower case, without spaces and commas",
            "write lower-case letters, digits, dots, hyphens and underscores",
        )
    if account.name in (slurm_limit_facts().root_account, slurm_limit_facts().image_account):
        yield account.wrong(
            "name",
            PeopleCode.ACCOUNT_NAME,
            "this account exists in every cluster: its limits would also apply to administrators",
            "write another name",
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
            message=f"`{attribute}` must be a whole number from 0, where 0 allows nothing",
            remedy="write a number from 0, or remove it for no limit",
            path=(attribute,),
            value=number,
            allowed=f"0 to {largest}",
        )


def _resources(attribute: str, given: Mapping[str, int]) -> Iterator[Problem]:
    # It must not be a CDK token: the resources that Slurm counts must be known when the scripts are written.
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        yield Problem(
            code=PeopleCode.ACCOUNT_TRES,
            message=f"`{attribute}` must be a mapping from resources to numbers",
            remedy="write e.g. {'node': 16, 'gres/gpu': 128}",
            path=(attribute,),
            value=given,
        )
        return
    for name, number in given.items():
        if not slurm_limit_facts().tres_form.fullmatch(name):
            yield Problem(
                code=PeopleCode.ACCOUNT_TRES,
                message="unknown trackable resource (TRES) of Slurm",
                remedy=did_you_mean(
                    name, (*slurm_limit_facts().counted, "gres/gpu"), otherwise="write e.g. `node`, or `gres/gpu`"
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
            yield _of_tree(
                "two accounts have this name", "give each account a different name", index, "name", account.name
            )
        names.add(account.name)
        if account.parent is None or is_unresolved(account.parent):
            continue
        if account.parent not in parents:
            remedy = did_you_mean(account.parent, list(parents), otherwise="add it to the accounts")
            yield _of_tree("the parent account does not exist", remedy, index, "parent", account.parent)
        elif _is_above_itself(account.name, parents):
            message = "the account is its own ancestor"
            yield _of_tree(message, "remove `parent` of the topmost account", index, "parent", account.parent)


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
                message=f"{user.name} has no Slurm account, and so cannot submit jobs when limits are enforced",
                remedy=f"set the account of {user.name}, e.g. `{names[0]}`",
                path=(index, "slurm_account"),
                allowed=", ".join(names),
            )
        elif user.slurm_account not in names and not is_unresolved((user.slurm_account, names)):
            yield Problem(
                code=PeopleCode.ACCOUNT_UNKNOWN,
                message="`slurm_accounts` has no account with this name",
                remedy=did_you_mean(user.slurm_account, names, otherwise="add it to the accounts"),
                path=(index, "slurm_account"),
                value=user.slurm_account,
                allowed=", ".join(names),
            )


_ENFORCE = "accountingstorageenforce"


@rule
def check_hyperpod_enforces(hook: str | None, strategy: SlurmConfigStrategy | None) -> Iterator[Problem]:
    """Return a problem when HyperPod would remove llm-fleet's line from slurm.conf.

    `hook`: when the controller runs the scripts; with `OnCreate` llm-fleet writes slurm.conf. Otherwise the AMI does,
    and additions are kept only with `Merge`, the strategy of Continuous provisioning.
    """
    if hook == LifecycleHook.ON_INIT_COMPLETE and strategy not in (None, SlurmConfigStrategy.MERGE):
        yield _unenforced(
            f"limits require AccountingStorageEnforce in slurm.conf, and with {strategy} HyperPod removes that line or "
            "rejects updates",
            "use Continuous provisioning or the strategy Merge, or run the controller's scripts with OnCreate",
        )


def check_parallelcluster_enforces(lines: Sequence[Mapping[str, Any]], file: str | None) -> Iterator[Problem]:
    """Yield a problem for each of the user's Slurm settings, in `lines` or in a `file`, that may disable limits."""
    if file is not None:
        yield _unenforced(
            "limits require AccountingStorageEnforce in slurm.conf, and llm-fleet cannot check it in a settings file",
            "write the settings themselves instead of the file",
        )
    if is_unresolved(lines):
        return
    for line in lines:
        for key, value in line.items():
            missing = {*slurm_limit_facts().enforce} - {*str(value).lower().split(",")}
            if key.lower() == _ENFORCE and missing and not is_unresolved(value):
                yield _unenforced(
                    f"your AccountingStorageEnforce does not contain {' and '.join(sorted(missing))}, which limits "
                    "require",
                    "remove it: llm-fleet sets it",
                )


def _unenforced(what: str, how: str) -> Problem:
    return Problem(code=PeopleCode.ENFORCE, message=what, remedy=how, path=("slurm_accounts",))


_URI = re.compile(r"(ldaps?)://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?")
_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+")
_DN = re.compile(r"\s*[A-Za-z][A-Za-z0-9-]*\s*=.+")
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_GROUP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]*")
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
"""The first line of every PEM certificate."""
_PRIVATE = "PRIVATE KEY-----"
SSSD_PACKAGES = ("sssd", "sssd-ldap")
"""The packages that nodes install when the image has no SSSD."""
_FORMS = {
    "domain": (_DOMAIN, "a directory's DNS name", "corp.example.com"),
    "base_dn": (_DN, "a distinguished name", "dc=corp,dc=example,dc=com"),
    "bind_dn": (_DN, "a distinguished name", "cn=reader,ou=services,dc=corp,dc=example,dc=com"),
    "ssh_public_key_attribute": (_ATTRIBUTE, "an LDAP attribute", "sshPublicKey"),
    "home": (re.compile(r"(/[A-Za-z0-9_.@%+-]+)*/%u"), "a path that ends with `/%u`, the login name", "/home/%u"),
    "test_user": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*"), "a login name", "ada"),
}


def check_directory(
    directory: Directory, users: Sequence[ClusterUser], *, certificate_text: str | None, on_parallelcluster: bool
) -> list[Problem]:
    """Return what is wrong with `directory`, by its attributes; `users` are those that nodes create themselves.

    `certificate_text`: of the file that is copied to the nodes; empty for a file that cannot be read.
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
    """Return a problem when the packages of SSSD are not in the lock file; `names`: its files, `None` without one."""
    if names is None or not all(package in names for package in SSSD_PACKAGES):
        yield Problem(
            code=PeopleCode.DIRECTORY_PACKAGES,
            message="a directory requires SSSD, which HyperPod images may not contain, and nodes download no packages"
            if names is None
            else f"a directory requires SSSD, and the lock file does not contain {' and '.join(SSSD_PACKAGES)}",
            remedy="use an image with SSSD and set `sssd_on_image`, or add "
            f"{' and '.join(SSSD_PACKAGES)} to the lock file with `llm-fleet mirror lock` and set `downloads`",
            path=("sssd_on_image",),
        )


def directory_twice(key: str) -> Problem:
    """Return the problem of a ParallelCluster with both `key` and its own section in `overrides`."""
    return Problem(
        code=PeopleCode.DIRECTORY_TWICE,
        message=f"set only one of `{key}` and the section `DirectoryService` of `overrides`",
        remedy="remove one of the two",
        path=(key,),
    )


def _uris(directory: Directory) -> Iterator[Problem]:
    if not directory.uris:
        yield _uri((), "`uris` is required for a directory", "write e.g. ['ldaps://ldap.corp.example.com']", None)
    for index, uri in enumerate(directory.uris):
        if is_unresolved(uri):
            continue
        form = _URI.fullmatch(uri)
        if form is None:
            yield _uri(
                (index,), "this is not the URI of an LDAP server", "write e.g. 'ldaps://ldap.corp.example.com'", uri
            )
        elif form[1] == "ldap" and not directory.start_tls:
            yield _uri(
                (index,),
                "ldap:// without `start_tls` is not encrypted: passwords could be read, and responses could be forged",
                f"write `ldaps://{uri.partition('://')[2]}`, or set `start_tls` if the server supports it",
                uri,
            )
        elif form[1] == "ldaps" and directory.start_tls:
            yield _uri((index,), "`start_tls` cannot be used with ldaps://, which always uses TLS", "remove "
                       "`start_tls`, or write ldap:// for a server that supports StartTLS", uri)  # fmt: skip


def _uri(where: tuple[int, ...], what: str, how: str, value: object) -> Problem:
    path = ("uris", *where)
    return Problem(code=PeopleCode.DIRECTORY_URI, message=what, remedy=how, path=path, value=value)


def _form(attribute: str, value: str | None) -> Iterator[Problem]:
    if value is None or is_unresolved(value):
        return
    form, what, example = _FORMS[attribute]
    # A line break would begin another setting in sssd.conf.
    if not value.isprintable() or not form.fullmatch(value):
        yield _value(attribute, value, f"this is not {what}", f"write e.g. `{example}`")


def _filter(attribute: str, value: str | None) -> Iterator[Problem]:
    if value is None or is_unresolved(value):
        return
    whole = value.isprintable() and value.startswith("(") and value.endswith(")")
    if not whole or value.count("(") != value.count(")"):
        example = "(memberOf=cn=fleet,ou=groups,dc=corp,dc=example,dc=com)"
        yield _value(attribute, value, "an LDAP filter must be in parentheses", f"write e.g. `{example}`")


def _groups(names: Sequence[str]) -> Iterator[Problem]:
    for name in names:
        if not is_unresolved(name) and not _GROUP.fullmatch(name):
            yield _value(
                "sudo_groups",
                name,
                "this group name contains characters that are not allowed in sudoers",
                "write a plain name",
            )


def _value(attribute: str, value: object, what: str, how: str) -> Problem:
    code = PeopleCode.DIRECTORY_VALUE
    return Problem(code=code, message=what, remedy=how, path=(attribute,), value=value)


def _certificate(directory: Directory, text: str | None, on_parallelcluster: bool) -> Iterator[Problem]:
    fault, remedy = _certificate_fault(text, on_parallelcluster)
    if directory.certificate_on_nodes is None and fault:
        path = ("certificate",)
        yield Problem(code=PeopleCode.DIRECTORY_CERTIFICATE, message=fault, remedy=remedy, path=path)


def _certificate_fault(text: str | None, on_parallelcluster: bool) -> tuple[str, str]:
    """Return fault and remedy of the file with CA certificates; two empty strings when it is right."""
    if not text:
        return "the file does not exist, and nodes need it to verify the identity of the LDAP server", (
            "write the path of a PEM file with the CA certificate, relative to the fleet file or the program, or an "
            "absolute path in the image"
        )
    if _PRIVATE in text:
        return "this file contains a private key", "write a file that contains only the CA certificate"
    if CERTIFICATE not in text:
        return "this file contains no PEM certificate", f"write a file with the line {CERTIFICATE}"
    if on_parallelcluster:
        return "ParallelCluster queries the directory before scripts could copy this file to the nodes", (
            "add the file to the image, and write its absolute path there"
        )
    return "", ""


def _ids(directory: Directory, users: Sequence[ClusterUser]) -> Iterator[Problem]:
    first, last = directory.first_id, directory.last_id
    if is_unresolved((first, last)):
        return
    if not 0 < first <= last:
        yield _value("first_id", first, "`first_id` must be above 0 and at most `last_id`", "write the "
                     "lowest and the highest id of the directory's users")  # fmt: skip
        return
    inside = [user for user in users if not is_unresolved(user.uid) and _meets(user, first, last)]
    if inside:
        names = ", ".join(f"{user.name} ({user.uid})" for user in inside)
        yield directory.wrong(
            "first_id",
            PeopleCode.DIRECTORY_IDS,
            f"{names} of `users` have ids in the range of the directory, so that they would own files of its users",
            f"give them ids below {first}, or set `first_id` above {max(u.uid for u in inside)}",
        )


def _meets(user: ClusterUser, first: int, last: int) -> bool:
    group = user.uid if user.gid is None else user.gid
    return first <= user.uid <= last or (not is_unresolved(group) and first <= group <= last)
