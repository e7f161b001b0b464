"""Enables SSSD for users (NSS) and logins (PAM), and home directories at the first login."""

from __future__ import annotations

import re

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host

_FEATURES = ("sssd", "with-mkhomedir")
"""authselect's profile and its feature; oddjobd makes home directories, because SELinux blocks PAM."""
_PROFILE = "/usr/share/pam-configs/llm-fleet-mkhomedir"
_MAKE_HOMES = """\
Name: Make home directories of directory users at the first login (llm-fleet)
Default: no
Priority: 0
Session-Type: Additional
Session:
\toptional\tpam_mkhomedir.so umask=0077 skel=/etc/skel
"""
_ODDJOB = "/etc/oddjobd.conf.d/oddjobd-mkhomedir.conf"
_HELPER = re.compile(r'(exec="[^" ]*/mkhomedir)(?: -u [0-7]+)?"')
"""oddjobd's program for home directories. Its default umask differs between versions, so it is set."""
_NSSWITCH = "/etc/nsswitch.conf"
_DATABASES = ("passwd", "group", "shadow")


def ask_sssd(host: Host) -> None:
    """Enable SSSD in NSS and PAM. Raises `Failure` (`LFN164`) if the node has no tool for that."""
    if host.which("authselect"):
        _make_private_homes(host)
    if name_service_problem(host) == "":
        return
    if host.which("authselect"):
        _run(host, "authselect", "select", *_FEATURES, "--force", changes="enabled SSSD in NSS and PAM")
        _run(host, "systemctl", "enable", "--now", "--quiet", "oddjobd.service", changes="started oddjobd")
    elif host.which("pam-auth-update"):
        host.write(_PROFILE, _MAKE_HOMES)
        _run(
            host, "pam-auth-update", "--package", "--enable", "sss", "llm-fleet-mkhomedir",
            changes="enabled SSSD in PAM",
        )  # fmt: skip
        _put_sss(host)
    else:
        fail(Code.NAME_SERVICE, "this node has neither authselect nor pam-auth-update", final=True)


def _make_private_homes(host: Host) -> None:
    """Configure oddjobd to make private home directories, and restart it after a change."""
    there = host.read(_ODDJOB) or ""
    reported = _HELPER.sub(r'\1 -u 0077"', there)
    if reported != there:
        host.write(_ODDJOB, reported)
        _run(
            host,
            "systemctl",
            "try-restart",
            "oddjobd.service",
            changes="configured oddjobd to make private home directories",
        )


def name_service_problem(host: Host) -> str:
    """Describe what does not use SSSD; empty if everything does."""
    switch = host.read(_NSSWITCH) or ""
    for database in _DATABASES[:2]:
        if "sss" not in _sources(switch, database):
            return f"{database} in {_NSSWITCH} does not have sss"
    if host.which("authselect"):
        try:
            said = host.run("authselect", "current", "--raw").split()
        except CommandFailed:
            return "authselect has no profile selected"
        missing = [word for word in _FEATURES if word not in said]
        return f"authselect's profile lacks {', '.join(missing)}" if missing else ""
    for file, module in (("common-auth", "pam_sss.so"), ("common-session", "pam_mkhomedir.so")):
        if module not in (host.read(f"/etc/pam.d/{file}") or ""):
            return f"/etc/pam.d/{file} has no {module}"
    return ""


def _sources(switch: str, database: str) -> list[str]:
    line = re.search(rf"^{database}:(.*)$", switch, re.MULTILINE)
    return line.group(1).split("#")[0].split() if line else []


def _put_sss(host: Host) -> None:
    """Add SSSD last to each database, so that the node's own files take precedence."""
    switch = host.read(_NSSWITCH) or ""
    for database in _DATABASES:
        sources = _sources(switch, database)
        if not sources:
            switch += f"{database}: files sss\n"
        elif "sss" not in sources:
            switch = re.sub(rf"^({database}:[^#\n]*?)[ \t]*(#.*)?$", r"\1 sss", switch, flags=re.MULTILINE)
    host.write(_NSSWITCH, switch)


def _run(host: Host, *command: str, changes: str) -> None:
    try:
        host.run(*command, changes=changes, timeout=60)
    except CommandFailed as error:
        fail(Code.NAME_SERVICE, error.cause)
