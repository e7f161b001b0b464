"""SSSD's configuration, with the password of the directory's reader, and whether it answers."""

from __future__ import annotations

import grp
import json
import os
import re
from contextlib import suppress
from typing import Any

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.people_parts import Directory
from llm_fleet_node.waiting import wait_for

CONF = "/etc/sssd/sssd.conf"
CERTIFICATE = "/etc/llm-fleet/directory-ca.pem"
"""The authorities of the bundle; sssd.conf names it."""
_INFOPIPE = "/usr/libexec/sssd/sssd_ifp"
"""Of the package sssd-dbus. Without it sssctl can ask SSSD nothing, and says so with an error."""
_UNIX_GROUP = "sssd"
_NO_ONE = "llm-fleet-asks"
"""How a name begins that no directory has. Of one that SSSD was asked for before, it answers from its cache without
asking the directory, for 90 minutes or, of one that is not there, 15 s; and it goes on saying Online (SSSD 2.10)."""
_SECONDS = 45.0
"""For SSSD to have asked the directory after its start."""
_ONLINE = re.compile(r"^Online status:\s*Online\s*$", re.MULTILINE | re.IGNORECASE)


def password_of(node: Node, directory: Directory) -> str:
    """Return the reader's password. Raises `Failure` (`LFN163`) when it cannot be had, or not be written down."""
    command = ("aws", "secretsmanager", "get-secret-value", "--secret-id", directory.bind_secret_arn)
    shape = ("--query", "SecretString", "--output", "json", "--region", node.manifest.region)
    try:
        reported: Any = json.loads(node.host.run(*command, *shape, timeout=60, secret=True))
    except CommandFailed as error:
        fail(Code.DIRECTORY_SECRET, error.cause)
    except ValueError:
        reported = None
    # No word of what it holds: a wrong secret may be another's password.
    if not isinstance(reported, str) or not reported.strip():
        fail(Code.DIRECTORY_SECRET, f"{directory.bind_secret_arn} holds no text", final=True)
    password = reported.rstrip("\r\n")
    if password != password.strip() or not password.isprintable():
        cause = f"the text of {directory.bind_secret_arn} has blanks around it, several lines, or other signs"
        fail(Code.DIRECTORY_SECRET, f"{cause} that sssd.conf cannot hold", final=True)
    return password


def put(host: Host, text: str) -> bool:
    """Make sssd.conf hold `text` for nobody but root and SSSD; return whether it was changed."""
    return not (is_private(host) and host.read(CONF) == text) and host.write(CONF, text, mode=0o600)


def is_private(host: Host) -> bool:
    """Return whether sssd.conf is there for nobody but root and SSSD.

    SSSD's own unit lets a group read it at each start, root's or that of its user, which has no people in it.
    Source: recorded sssd.service of SSSD 2.10 in Debian 13 (`chmod -R g+r /etc/sssd`).
    """
    try:
        found = host.path(CONF).stat()
    except FileNotFoundError:
        return False
    groups = {os.getegid(), *(group.gr_gid for group in grp.getgrall() if group.gr_name == _UNIX_GROUP)}
    return found.st_uid == os.geteuid() and not found.st_mode & 0o137 and found.st_gid in groups


def rendered(directory: Directory, *, password: str, home: str) -> str:
    """Return the text of sssd.conf; `home`: where homes are unless the directory's options say it, with `%u`."""
    services = "nss, pam, ssh" if directory.ssh_keys else "nss, pam"
    certificate = directory.certificate_on_nodes or CERTIFICATE
    lines = [
        "# Written by llm-fleet. Root's alone: it holds a password.",
        "[sssd]",
        "config_file_version = 2",
        f"services = {services}",
        f"domains = {directory.domain}",
        "",
        # Users of this name are the node's own, whatever the directory says.
        "[nss]",
        "filter_users = root",
        "filter_groups = root",
        "",
        f"[domain/{directory.domain}]",
        "id_provider = ldap",
        "auth_provider = ldap",
        f"ldap_uri = {', '.join(directory.uris)}",
        f"ldap_default_bind_dn = {directory.bind_dn}",
        "ldap_default_authtok_type = password",
        f"ldap_default_authtok = {password}",
        f"ldap_tls_cacert = {certificate}",
        "ldap_tls_reqcert = demand",
        # No password of a person is kept on a node.
        "cache_credentials = False",
        "use_fully_qualified_names = False",
        *_home(directory, home),
        "default_shell = /bin/bash",
        *_access(directory),
        *(f"{name} = {value}" for name, value in directory.options),
    ]
    return "".join(f"{line}\n" for line in lines)


def _home(directory: Directory, home: str) -> list[str]:
    """Not `fallback_homedir`, which is for people without a home: RFC 2307 gives everybody one, mostly `/home/…`, which
    may be another disk on each node.
    """
    return [] if any(name == "override_homedir" for name, _ in directory.options) else [f"override_homedir = {home}"]


def _access(directory: Directory) -> list[str]:
    if directory.user_filter is None:
        return ["access_provider = permit"]
    order = "ldap_access_order = filter"
    return ["access_provider = ldap", order, f"ldap_access_filter = {directory.user_filter}"]


def wait_until_online(host: Host, directory: Directory) -> None:
    """Wait until SSSD has asked the directory, where the node can tell. Raises `Failure` (`LFN165`) when it cannot."""
    if host.which("sssctl") is None or not host.path(_INFOPIPE).exists():
        return

    def online() -> bool:
        # SSSD asks the directory when it is asked itself, and says Online until then.
        with suppress(CommandFailed):
            host.run("getent", "--service=sss", "passwd", f"{_NO_ONE}-{os.urandom(4).hex()}", timeout=20)
        try:
            said = host.run("sssctl", "domain-status", directory.domain, "--online", timeout=20)
        except CommandFailed:
            return False
        return bool(_ONLINE.search(said))

    wait_for(
        f"answer of {directory.domain} at {', '.join(directory.uris)}", online, seconds=_SECONDS,
        code=Code.DIRECTORY_DOWN,
    )  # fmt: skip


def check_test_user(host: Host, directory: Directory) -> None:
    """Raise `Failure` (`LFN166`) unless the node finds the test user, with an id of the directory's."""
    name = directory.test_user
    if name is None:
        return
    first, last = int(directory.option("min_id")), int(directory.option("max_id"))

    def look() -> str:
        try:
            return host.run("getent", "--service=sss", "passwd", name, timeout=20).strip()
        except CommandFailed:
            return ""

    what = f"user {name} of {directory.domain} with an id from {first} to {last}"
    fields = wait_for(what, look, seconds=_SECONDS, code=Code.DIRECTORY_USER).split(":")
    if len(fields) != 7 or not fields[2].isdigit() or not first <= int(fields[2]) <= last:
        fail(Code.DIRECTORY_USER, f"{name} is found as {':'.join(fields[2:4])}, which is no id from {first} to {last}")
