"""SSSD's configuration, with the password of the bind user, and its check."""

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
"""Certificate authorities of the bundle, named in sssd.conf."""
_INFOPIPE = "/usr/libexec/sssd/sssd_ifp"
"""File of the package sssd-dbus, which sssctl requires."""
_UNIX_GROUP = "sssd"
_NO_ONE = "llm-fleet-asks"
"""Prefix of a name that no directory has. SSSD answers earlier names from its cache without querying the directory, for
90 minutes, or 15 s if missing; and it keeps reporting Online (SSSD 2.10)."""
_SECONDS = 45.0
"""Timeout for SSSD's first query of the directory."""
_ONLINE = re.compile(r"^Online status:\s*Online\s*$", re.MULTILINE | re.IGNORECASE)


def password_of(node: Node, directory: Directory) -> str:
    """Return the bind user's password. Raises `Failure` (`LFN163`) if it cannot be read or used in sssd.conf."""
    command = ("aws", "secretsmanager", "get-secret-value", "--secret-id", directory.bind_secret_arn)
    shape = ("--query", "SecretString", "--output", "json", "--region", node.manifest.region)
    try:
        reported: Any = json.loads(node.host.run(*command, *shape, timeout=60, secret=True))
    except CommandFailed as error:
        fail(Code.DIRECTORY_SECRET, error.cause)
    except ValueError:
        reported = None
    # The value is never logged: a wrong secret may be another password.
    if not isinstance(reported, str) or not reported.strip():
        fail(Code.DIRECTORY_SECRET, f"{directory.bind_secret_arn} has no text value", final=True)
    password = reported.rstrip("\r\n")
    if password != password.strip() or not password.isprintable():
        cause = f"the text of {directory.bind_secret_arn} has spaces around it, several lines, or characters"
        fail(Code.DIRECTORY_SECRET, f"{cause} that sssd.conf cannot contain", final=True)
    return password


def put(host: Host, text: str) -> bool:
    """Write `text` to sssd.conf, readable only for root and SSSD; return whether it was changed."""
    return not (is_private(host) and host.read(CONF) == text) and host.write(CONF, text, mode=0o600)


def is_private(host: Host) -> bool:
    """Return whether only root and SSSD can read sssd.conf.

    SSSD's unit makes it readable for a group at each start: root's or its own, which has no members.
    Source: recorded sssd.service of SSSD 2.10 in Debian 13 (`chmod -R g+r /etc/sssd`).
    """
    try:
        found = host.path(CONF).stat()
    except FileNotFoundError:
        return False
    groups = {os.getegid(), *(group.gr_gid for group in grp.getgrall() if group.gr_name == _UNIX_GROUP)}
    return found.st_uid == os.geteuid() and not found.st_mode & 0o137 and found.st_gid in groups


def rendered(directory: Directory, *, password: str, home: str) -> str:
    """Return the text of sssd.conf; `home`: the home directory with `%u`, unless the directory's options set it."""
    services = "nss, pam, ssh" if directory.ssh_keys else "nss, pam"
    certificate = directory.certificate_on_nodes or CERTIFICATE
    lines = [
        "# Written by llm-fleet. Only root can read it: it contains a password.",
        "[sssd]",
        "config_file_version = 2",
        f"services = {services}",
        f"domains = {directory.domain}",
        "",
        # Users with these names are always the node's own.
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
        # Users' passwords are not stored on nodes.
        "cache_credentials = False",
        "use_fully_qualified_names = False",
        *_home(directory, home),
        "default_shell = /bin/bash",
        *_access(directory),
        *(f"{name} = {value}" for name, value in directory.options),
    ]
    return "".join(f"{line}\n" for line in lines)


def _home(directory: Directory, home: str) -> list[str]:
    """Not `fallback_homedir`, which is for users without a home: with RFC 2307 all users have one, mostly `/home/…`,
    which can be a different disk on each node.
    """
    return [] if any(name == "override_homedir" for name, _ in directory.options) else [f"override_homedir = {home}"]


def _access(directory: Directory) -> list[str]:
    if directory.user_filter is None:
        return ["access_provider = permit"]
    order = "ldap_access_order = filter"
    return ["access_provider = ldap", order, f"ldap_access_filter = {directory.user_filter}"]


def wait_until_online(host: Host, directory: Directory) -> None:
    """Wait until SSSD has queried the directory, if sssctl is available. Raises `Failure` (`LFN165`) if it fails."""
    if host.which("sssctl") is None or not host.path(_INFOPIPE).exists():
        return

    def online() -> bool:
        # SSSD queries the directory on the first lookup, and reports Online until then.
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
    """Raise `Failure` (`LFN166`) unless the node finds the test user, with an id in the directory's range."""
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
        fail(Code.DIRECTORY_USER, f"{name} has the ids {':'.join(fields[2:4])}, which are not from {first} to {last}")
