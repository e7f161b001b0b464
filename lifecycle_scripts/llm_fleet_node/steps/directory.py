"""Users of an LDAP directory or Active Directory, through SSSD, before Slurm needs them.

On ParallelCluster the platform has set up SSSD (`DirectoryService`): there, only sudo and the lookup are handled.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node import packages
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.node import Node
from llm_fleet_node.people_parts import Directory
from llm_fleet_node.services import is_active, run_unit
from llm_fleet_node.step import EVERY_ROLE, Step
from llm_fleet_node.users import sssd, sudo
from llm_fleet_node.users.name_service import ask_sssd, name_service_problem
from llm_fleet_node.users.places import home_place

_UNIT = "sssd.service"
_SUDOERS = "/etc/sudoers.d/llm-fleet-directory"
_SSHD = "/etc/ssh/sshd_config.d/60-llm-fleet-directory.conf"
_SSHD_TEXT = (
    "# Written by llm-fleet: SSH keys of the directory's users.\n"
    "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys\n"
    "AuthorizedKeysCommandUser nobody\n"  # codespell:ignore nobody
)


def _apply(node: Node) -> None:
    """Write SSSD's configuration with the current password, enable it in NSS and PAM, and set sudo rights."""
    directory, host = _requested(node), node.host
    sudo.put_file(host, _SUDOERS, _rights(directory))
    if node.on_parallelcluster:
        return
    if host.which("sssd") is None:
        packages.install(node, _packages(node))
    if directory.certificate_text is not None:
        host.write(sssd.CERTIFICATE, directory.certificate_text)
    named = directory.certificate_on_nodes
    if named is not None and not host.path(named).exists():
        # SSSD logs only "Connect error", and keeps trying.
        cause = (
            f"the image has no {named}, which ca_certificate names: a file next to the fleet file has a relative path"
        )
        raise Failure(Code.DIRECTORY_DOWN, cause, final=True)
    home = f"{home_place(node).folder}/%u"
    text = sssd.rendered(directory, password=sssd.password_of(node, directory), home=home)
    host.folder("/etc/sssd", mode=0o711)
    changed = sssd.put(host, text)
    ask_sssd(host)
    try:
        if changed and is_active(host, _UNIT):
            host.run("systemctl", "restart", _UNIT, changes="restarted sssd")
        run_unit(host, _UNIT)
    except CommandFailed as error:
        fail(Code.DIRECTORY_DOWN, error.cause)
    _let_sshd_ask(node, directory)


def _verify(node: Node) -> None:
    """Verify that the directory answers, and that the node finds its test user with a valid id."""
    directory, host = _requested(node), node.host
    if not node.on_parallelcluster:
        if not sssd.is_private(host):
            fail(Code.NAME_SERVICE, f"{sssd.CONF} contains a password, but other users than root can read it")
        problem = name_service_problem(host)
        if problem:
            fail(Code.NAME_SERVICE, problem)
        if not is_active(host, _UNIT):
            fail(Code.DIRECTORY_DOWN, f"{_UNIT} does not run")
        sssd.wait_until_online(host, directory)
    sssd.check_test_user(host, directory)
    if (host.read(_SUDOERS) or "") != _rights(directory):
        fail(Code.SUDOERS, f"{_SUDOERS} does not match the fleet file")


def _requested(node: Node) -> Directory:
    assert node.manifest.directory is not None
    return node.manifest.directory


def _packages(node: Node) -> list[str]:
    """Return the packages to install if the image has no SSSD: the required ones, and tools if they are pinned."""
    pinned = {file.name for file in node.manifest.downloads.files}
    additional = ("sssd-tools", "sssd-dbus", "libnss-sss", "libpam-sss", "oddjob-mkhomedir", "authselect")
    return ["sssd", "sssd-ldap", *(name for name in additional if name in pinned)]


def _rights(directory: Directory) -> str:
    groups = [name.replace(" ", "\\ ") for name in directory.sudo_groups]
    lines = [f"%{name} ALL=(ALL:ALL) NOPASSWD:ALL\n" for name in groups]
    return "".join(["# Written by llm-fleet from the fleet file's directory.\n", *lines]) if lines else ""


def _let_sshd_ask(node: Node, directory: Directory) -> None:
    """Enable or disable SSSD keys in sshd; a file that sshd rejects is removed again."""
    host = node.host
    changed = host.write(_SSHD, _SSHD_TEXT) if directory.ssh_keys else host.remove(_SSHD)
    if not changed or host.which("sshd") is None:
        return
    try:
        host.run("sshd", "-t")
    except CommandFailed as error:
        host.remove(_SSHD)
        raise Failure(Code.NAME_SERVICE, error.cause, final=True) from error
    unit = "ssh.service" if host.which("pam-auth-update") else "sshd.service"
    host.run("systemctl", "try-reload-or-restart", unit, changes=f"reloaded {unit}")


def _skip(node: Node) -> Optional[str]:
    """Skipped without a directory."""
    return None if node.manifest.directory else "the fleet has no directory"


STEP = Step(
    name="directory",
    summary="the users of the fleet's directory exist on the node",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    after=("hosts", "mount_open_zfs", "mount_lustre"),
    skip=_skip,
    # It can install packages.
    timeout=1500,
    retries=2,
)
