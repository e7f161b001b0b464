"""A directory through SSSD: the password only in root's file, NSS and PAM configured, verified with a test user."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.people_parts import Directory
from llm_fleet_node.steps.directory import STEP
from llm_fleet_node.users import sssd
from tests.lifecycle_scripts.convergence import again, applied, assert_fails
from tests.lifecycle_scripts.step_node import file, make, mount, program, said

PASSWORD = "correct=horse %u #battery"
DIRECTORY = Directory(
    domain="corp.example.com",
    uris=("ldaps://one.corp.example.com", "ldaps://two.corp.example.com"),
    bind_dn="cn=reader,dc=corp,dc=example,dc=com",
    bind_secret_arn="arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf",
    certificate_on_nodes=None,
    certificate_text="-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    options=(
        *(("ldap_search_base", "dc=corp,dc=example,dc=com"), ("ldap_schema", "rfc2307")),
        *(("min_id", "200000"), ("max_id", "300000")),
    ),
    user_filter="(memberOf=cn=fleet,dc=corp,dc=example,dc=com)",
    sudo_groups=("fleet-admins",),
    ssh_keys=True,
    test_user="ada",
)
# As the AWS CLI prints `--query SecretString --output json`.
AWS = """
import json
if a[:3] != ['secretsmanager', 'get-secret-value', '--secret-id'] or a[4:] != [
    '--query', 'SecretString', '--output', 'json', '--region', 'us-west-2']: bad()
print(json.dumps(read('/secret')) if os.path.exists(root + '/secret') else 'null')
"""
SYSTEMCTL = """
open(root + '/calls', 'a').write(' '.join(a) + '\\n')
if a[:2] == ['is-active', '--quiet']: sys.exit(0 if os.path.exists(root + '/run/' + a[2]) else 3)
if a[:2] == ['is-enabled', '--quiet']: sys.exit(0 if os.path.exists(root + '/enabled') else 1)
if a[0] == 'enable': write('/enabled', '')
if a[0] in ('start', 'restart'):
    if os.path.exists(root + '/broken'): sys.exit('Job for sssd.service failed')
    write('/run/' + a[1], read('/etc/sssd/sssd.conf'))
    os.chmod(root + '/etc/sssd/sssd.conf', 0o640)  # as sssd.service of SSSD 2.10 does in Debian 13
"""
PAM_AUTH_UPDATE = """
if a != ['--package', '--enable', 'sss', 'llm-fleet-mkhomedir']: bad()
if 'umask=0077' not in read('/usr/share/pam-configs/llm-fleet-mkhomedir'): bad()
write('/etc/pam.d/common-auth', 'auth sufficient pam_sss.so\\n')
write('/etc/pam.d/common-session', 'session optional pam_mkhomedir.so\\n')
"""
AUTHSELECT = """
if a == ['current', '--raw']:
    if not read('/selected'): sys.exit('No existing configuration detected.')
    print(read('/selected'))
elif a == ['select', 'sssd', 'with-mkhomedir', '--force']:
    write('/selected', 'sssd with-mkhomedir')
    write('/etc/nsswitch.conf', 'passwd: sss files\\ngroup: sss files\\n')
else: bad()
"""
GETENT = """
if a[:2] != ['--service=sss', 'passwd']: bad()
if not os.path.exists(root + '/run/sssd.service'): sys.exit(2)
if a[2] not in read('/cached').split(): write('/requests', a[2])
if not read('/person'): sys.exit(2)
print(read('/person').strip().replace('NAME', a[2]))
"""
# SSSD contacts no server before the first request, and reports Online until then; sssctl queries it by InfoPipe, of the
# package sssd-dbus.
SSSCTL = """
if a != ['domain-status', 'corp.example.com', '--online']: bad()
if not os.path.exists(root + '/usr/libexec/sssd/sssd_ifp'): sys.exit('InfoPipe operation failed.')
print('Online status: ' + (read('/requests') and read('/status') or 'Online'))
"""


def fresh(root: Path, directory: Directory = DIRECTORY, *, rhel: bool = False, **manifest: Any) -> Node:
    for folder in ("run", "etc/pam.d", "etc/ssh/sshd_config.d", "etc/sudoers.d"):
        (root / folder).mkdir(parents=True)
    file(root, "/secret", PASSWORD + "\n")
    file(root, "/usr/libexec/sssd/sssd_ifp", "")
    file(root, "/person", "NAME:*:200017:200017:Ada:/home/NAME:/bin/bash")
    file(root, "/etc/nsswitch.conf", "passwd:         files systemd  # people\ngroup: files\nhosts: files dns\n")
    tools = {"authselect": AUTHSELECT} if rhel else {"pam-auth-update": PAM_AUTH_UPDATE}
    tools |= {"aws": AWS, "systemctl": SYSTEMCTL, "getent": GETENT, "sssctl": SSSCTL, "sshd": ""}
    tools["visudo"] = "sys.stdin.read()"
    for name, body in {**tools, "sssd": ""}.items():
        program(root, name, body)
    return make(root, directory=directory, region="us-west-2", **manifest)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return fresh(tmp_path, mounts=(mount("lustre", "/fsx"),))


def test_queries_use_tls_and_only_root_can_read_the_password(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    text = node.host.read(sssd.CONF) or ""
    for line in (
        "services = nss, pam, ssh",
        "ldap_uri = ldaps://one.corp.example.com, ldaps://two.corp.example.com",
        f"ldap_default_authtok = {PASSWORD}",
        "ldap_tls_reqcert = demand",
        f"ldap_tls_cacert = {sssd.CERTIFICATE}",
        "ldap_access_filter = (memberOf=cn=fleet,dc=corp,dc=example,dc=com)",
        # Not fallback_homedir: a directory's user always has a homeDirectory, /home/… on each node's own disk.
        "override_homedir = /fsx/home/%u",
        "min_id = 200000",
        "cache_credentials = False",
    ):
        assert f"\n{line}\n" in text
    assert node.host.path(sssd.CONF).stat().st_mode & 0o777 == 0o640, "the mode that SSSD's unit sets"
    assert (node.host.read(sssd.CERTIFICATE) or "").startswith("-----BEGIN CERTIFICATE-----")
    assert "%fleet-admins ALL=(ALL:ALL) NOPASSWD:ALL" in (node.host.read("/etc/sudoers.d/llm-fleet-directory") or "")
    # Neither in the log, nor in the changes, nor on a command line.
    assert PASSWORD not in said(node) + "".join(node.host.changes) + (node.host.read("/calls") or "")


def test_the_name_service_uses_sssd_last_and_other_lines_are_kept(node: Node) -> None:
    STEP.apply(node)
    assert node.host.read("/etc/nsswitch.conf") == (
        "passwd:         files systemd sss\ngroup: files sss\nhosts: files dns\nshadow: files sss\n"
    )


def test_a_second_run_changes_nothing_and_a_new_password_restarts_sssd(node: Node) -> None:
    STEP.apply(node)
    assert applied(STEP, node) == []
    file(node.host.root, "/secret", "another")
    third = again(node)
    STEP.apply(third)
    assert third.host.changes == [f"wrote {sssd.CONF}", "restarted sssd"]
    assert "ldap_default_authtok = another\n" in (node.host.read("/run/sssd.service") or "")


def test_amazon_linux_uses_authselect(tmp_path: Path) -> None:
    node = fresh(tmp_path, rhel=True)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read("/selected") == "sssd with-mkhomedir"
    assert "enable --now --quiet oddjobd.service" in (node.host.read("/calls") or "")


@pytest.mark.parametrize("umask", ["", " -u 0002", " -u 0077"])
def test_homes_made_by_oddjobd_are_private(tmp_path: Path, umask: str) -> None:
    node, path = fresh(tmp_path, rhel=True), "/etc/oddjobd.conf.d/oddjobd-mkhomedir.conf"
    helper = '<helper exec="/usr/libexec/oddjob/mkhomedir{}" arguments="0" prepend_user_name="yes"/>\n'
    file(tmp_path, path, helper.format(umask) * 2)
    STEP.apply(node)
    assert node.host.read(path) == helper.format(" -u 0077") * 2
    assert ("try-restart oddjobd.service" in (node.host.read("/calls") or "")) == (umask != " -u 0077")
    assert applied(STEP, node) == []


@pytest.mark.parametrize("secret", ["", " \n", "one\ntwo", " lead-blank", "bell\a"])
def test_an_invalid_secret_is_reported_without_its_text(node: Node, secret: str) -> None:
    file(node.host.root, "/secret", secret)
    failure = assert_fails(Code.DIRECTORY_SECRET, STEP.apply, node)
    assert failure.final
    assert not secret.strip() or secret not in str(failure)
    assert not node.host.path(sssd.CONF).exists()


def test_an_unreadable_secret_is_reported(node: Node) -> None:
    program(node.host.root, "aws", "sys.exit('AccessDeniedException: not authorized')")
    assert_fails(Code.DIRECTORY_SECRET, STEP.apply, node, match="AccessDenied")


def test_missing_sssd_without_downloads_is_reported(node: Node) -> None:
    (node.host.root / "usr/bin/sssd").unlink()
    file(node.host.root, "/var/lib/dpkg/status", "")
    program(node.host.root, "dpkg-query", "sys.exit(1)")
    program(node.host.root, "dpkg", "pass")
    assert_fails(Code.PACKAGE_MISSING, STEP.apply, node)


def test_a_directory_that_does_not_answer(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sssd, "_SECONDS", 0.1)
    STEP.apply(node)
    file(node.host.root, "/status", "Offline")
    assert_fails(Code.DIRECTORY_DOWN, STEP.verify, node, match=r"no answer of corp\.example\.com")


def test_a_cached_name_does_not_count_as_an_answer_of_the_directory(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sssd, "_SECONDS", 0.1)
    STEP.apply(node)
    file(node.host.root, "/cached", "ada llm-fleet-asks")
    file(node.host.root, "/status", "Offline")
    with pytest.raises(Failure, match=r"no answer of corp\.example\.com"):
        STEP.verify(node)


def test_without_sssctl_only_the_test_user_is_checked(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sssd, "_SECONDS", 0.1)
    (node.host.root / "usr/libexec/sssd/sssd_ifp").unlink()
    STEP.apply(node)
    STEP.verify(node)
    file(node.host.root, "/person", "")
    assert_fails(Code.DIRECTORY_USER, STEP.verify, node, match="ada")


@pytest.mark.parametrize("person", ["", "NAME:*:1005:200017:Ada:/home/NAME:/bin/bash"])
def test_a_missing_user_and_a_user_with_a_foreign_id_are_reported(
    node: Node, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sssd, "_SECONDS", 0.1)
    STEP.apply(node)
    file(node.host.root, "/person", person)
    assert_fails(Code.DIRECTORY_USER, STEP.verify, node, match="ada")


def test_a_stopped_sssd_and_a_file_that_others_can_read(node: Node) -> None:
    file(node.host.root, "/broken", "")
    assert_fails(Code.DIRECTORY_DOWN, STEP.apply, node, match="Job for sssd")
    (node.host.root / "broken").unlink()
    STEP.apply(node)
    node.host.path(sssd.CONF).chmod(0o644)
    with pytest.raises(Failure, match="contains a password, but other users than root can read it"):
        STEP.verify(node)


def test_a_missing_certificate_is_reported_immediately(tmp_path: Path) -> None:
    """SSSD logs only that it cannot connect, and the error named the directory after 160 s."""
    named = replace(DIRECTORY, certificate_text=None, certificate_on_nodes="/etc/ssl/corp.pem")
    with pytest.raises(
        Failure, match=r"LFN165  the image has no /etc/ssl/corp\.pem, which ca_certificate names"
    ) as failure:
        STEP.apply(fresh(tmp_path, named))
    assert failure.value.final


def test_on_parallelcluster_the_directory_is_only_verified(tmp_path: Path) -> None:
    node = fresh(tmp_path, platform="parallelcluster")
    file(tmp_path, "/run/sssd.service", "")
    (tmp_path / "usr/bin/aws").unlink()
    STEP.apply(node)
    STEP.verify(node)
    assert not node.host.path(sssd.CONF).exists()
    assert node.host.read("/etc/sudoers.d/llm-fleet-directory")


def test_it_is_skipped_without_a_directory_and_keys_are_optional(tmp_path: Path) -> None:
    assert STEP.skip(make(tmp_path)) == "the fleet has no directory"
    node = fresh(tmp_path, replace(DIRECTORY, ssh_keys=False, user_filter=None, test_user=None))
    STEP.apply(node)
    STEP.verify(node)
    assert not node.host.path("/etc/ssh/sshd_config.d/60-llm-fleet-directory.conf").exists()
    assert "access_provider = permit\n" in (node.host.read(sssd.CONF) or "")
