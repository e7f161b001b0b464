"""An LDAP directory or Active Directory that knows people: asked over TLS alone, and with ids of its own."""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.rules.feature_codes import PeopleCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.people import ClusterUser, Directory

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


def check_sssd_packages(names: Sequence[str] | None) -> list[Problem]:
    """Return a problem when no file pinned for nodes is SSSD's; `names`: of the lock file, `None` for no downloads."""
    if names is not None and all(package in names for package in SSSD_PACKAGES):
        return []
    return [
        Problem(
            code=PeopleCode.DIRECTORY_PACKAGES,
            message="nodes ask a directory by SSSD, which AWS's HyperPod images do not promise, and nodes fetch nothing"
            if names is None
            else f"nodes ask a directory by SSSD, and the lock file has no {' and no '.join(SSSD_PACKAGES)}",
            remedy="use an image with SSSD and say `sssd_on_image`, or pin "
            f"{' and '.join(SSSD_PACKAGES)} with `llm-fleet mirror lock` and name the lock file under `downloads`",
            path=("sssd_on_image",),
        )
    ]


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


def _uri(where: tuple[int, ...], message: str, remedy: str, value: object) -> Problem:
    path = ("uris", *where)
    return Problem(code=PeopleCode.DIRECTORY_URI, message=message, remedy=remedy, path=path, value=value)


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


def _value(attribute: str, value: object, message: str, remedy: str) -> Problem:
    code = PeopleCode.DIRECTORY_VALUE
    return Problem(code=code, message=message, remedy=remedy, path=(attribute,), value=value)


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
        yield Problem(
            code=PeopleCode.DIRECTORY_IDS,
            message=f"{names} of `users` would have an id that the directory gives others, and own their files",
            remedy=f"give them ids below {first}, or begin the directory's own above {max(u.uid for u in inside)}",
            path=("first_id",),
            value=first,
        )


def _meets(user: ClusterUser, first: int, last: int) -> bool:
    group = user.uid if user.gid is None else user.gid
    return first <= user.uid <= last or (not is_unresolved(group) and first <= group <= last)
