"""SSH between nodes: all nodes have each other's host keys, each user has a key, and no check is disabled."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.platform_files import Instance
from llm_fleet_node.step import ON_CREATE, ON_INIT_COMPLETE
from llm_fleet_node.steps.ssh_between_nodes import STEP
from llm_fleet_node.steps.users import STEP as USERS
from llm_fleet_node.users import host_keys, own_key
from tests.lifecycle_scripts.convergence import again, applied, assert_fails, converges
from tests.lifecycle_scripts.step_node import ALICE, BOB, file, make, mount, program, said
from tests.lifecycle_scripts.users.account_tools import lay_down

NAME = os.uname().nodename
FOLDER = "/fsx/home/.llm-fleet/ssh/train"
KEYGEN = """
if a[:5] == ['-q', '-t', 'ed25519', '-N', ''] and a[5] == '-C' and a[7] == '-f' and len(a) == 9:
    who = a[6].split('@')[0]
    open(a[8], 'x').write(f'PRIVATE {who}\\n'); os.chmod(a[8], 0o600)
    open(a[8] + '.pub', 'x').write(f'ssh-ed25519 PUBLIC{who} {a[6]}\\n')
elif a[:4] == ['-y', '-P', '', '-f'] and len(a) == 5:
    key = open(a[4]).read().split()
    if key[0] != 'PRIVATE': sys.exit('incorrect passphrase supplied to decrypt private key')
    print('ssh-ed25519 PUBLIC' + key[1])
else:
    bad()
"""
# Accepts a user whose key is in their authorized_keys, after KnownHostsCommand has printed a host key; reads
# ssh_config.d.
SSH = """
options = dict(o.split('=', 1) for w, o in zip(a[0::2], a[1::2]) if w == '-o')
config = read('/etc/ssh/ssh_config.d/50-llm-fleet.conf')
if a[0] == '-G' and len(a) == 2:
    print('stricthostkeychecking ' + ('accept-new' if 'accept-new' in config else 'ask'))
    sys.exit()
if options.get('BatchMode') != 'yes' or options.get('StrictHostKeyChecking') != 'yes' or a[-1] != 'true': bad()
import subprocess
command = [l.split() for l in config.splitlines() if l.split()[:1] == ['KnownHostsCommand']]
keys = subprocess.run([root + command[0][1], a[-2]], capture_output=True, text=True).stdout if command else ''
if not keys: sys.exit('Host key verification failed.')
home = '/home/ubuntu' if read('/home/ubuntu/.ssh/authorized_keys') else '/fsx/home/alice'
key = read(home + '/.ssh/id_ed25519.pub').split()
if not key or key[1] not in read(home + '/.ssh/authorized_keys'): sys.exit('Permission denied (publickey).')
"""


# Prints the keys of the requested type in /shown, as `name type key` lines with a comment between them.
# While /penalty has lines, it removes one and closes the connection, like sshd after too many connections.
KEYSCAN = """
if a[:3] != ['-T', '10', '-t'] or a[3] not in ('ed25519', 'ecdsa', 'rsa') or len(a) != 5: bad()
shown, penalty = read('/shown'), read('/penalty').splitlines()
if penalty:
    open(root + '/penalty', 'w').write('\\n'.join(penalty[1:]))
    sys.exit(f'{a[4]}: Connection {penalty[0]}')
if shown == 'down': sys.exit(f'connect to host {a[4]} port 22: Connection refused')
print(f'# {a[4]}:22 SSH-2.0-OpenSSH_10.0')
for line in shown.splitlines():
    if a[3] in line: print(f'{a[4]} {line}')
"""


def fresh(root: Path, *, role: str = "Login") -> Node:
    lay_down(root)
    program(root, "ssh-keyscan", KEYSCAN)
    file(root, "/shown", "ssh-ed25519 HOST\nssh-rsa HOSTRSA\n")
    program(root, "ssh-keygen", KEYGEN)
    program(root, "ssh", SSH)
    file(root, "/etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 HOST root@image\n")
    file(root, "/etc/ssh/ssh_host_rsa_key.pub", "ssh-rsa HOSTRSA root@image\n")
    node = make(root, users=[ALICE, BOB], mounts=(mount("lustre", "/fsx"),), role=role)
    USERS.apply(node)
    return again(node)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return fresh(tmp_path)


def test_users_can_log_in_without_prompts(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read(f"{FOLDER}/{NAME}") == f"{NAME} ssh-ed25519 HOST\n{NAME} ssh-rsa HOSTRSA\n"
    assert "PUBLICalice" in (node.host.read("/fsx/home/alice/.ssh/authorized_keys") or "")
    assert "AAAAalice" in (node.host.read("/fsx/home/alice/.ssh/authorized_keys") or "")
    assert "StrictHostKeyChecking" not in (node.host.read(host_keys.CLIENT_CONFIG) or "")
    assert sorted(path.name for path in node.host.path("/fsx/home/bob/.ssh").iterdir()) == [
        ".llm-fleet.lock", "authorized_keys", "id_ed25519", "id_ed25519.pub",
    ]  # fmt: skip


def of_ubuntu(root: Path, *, role: str = "Login") -> Node:
    """A node of a fleet without users whose hook is OnCreate: HyperPod configures nothing.

    Source: document awsome-distributed-ai 95b939c, utils/gen-keypair-ubuntu.sh (2026-07): AWS's samples make the key.
    """
    node = fresh(root, role=role)
    (root / "home/ubuntu").mkdir(parents=True)
    return replace(again(node), hook=ON_CREATE, manifest=replace(node.manifest, users=()))


@pytest.mark.parametrize("role", ["Login", "Compute"])
def test_with_on_create_and_no_users_the_images_user_can_log_in_between_nodes(tmp_path: Path, role: str) -> None:
    node = of_ubuntu(tmp_path, role=role)
    assert STEP.skip(node) is None
    STEP.apply(node)
    STEP.verify(node)
    assert said(node) == "", "no message about the cause"
    kept = "/fsx/home/.llm-fleet/key-of-ubuntu/train"
    assert node.host.path(kept).stat().st_mode & 0o777 == 0o700
    assert node.host.path(f"{kept}/id_ed25519").stat().st_mode & 0o777 == 0o600
    assert node.host.read("/home/ubuntu/.ssh/id_ed25519") == "PRIVATE ubuntu\n"
    assert node.host.path("/home/ubuntu/.ssh/id_ed25519").stat().st_mode & 0o777 == 0o600
    assert "PUBLICubuntu" in (node.host.read("/home/ubuntu/.ssh/authorized_keys") or "")
    assert applied(STEP, node) == []
    file(tmp_path, f"{kept}/id_ed25519", "PRIVATE another\n", 0o600)
    STEP.verify(node)
    assert "/home/ubuntu/.ssh/id_ed25519 is not the key that the other nodes authorize" in said(node)
    assert "own user cannot log in between nodes" in said(node), "and does not fail the node"


def test_the_key_of_the_images_user_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(STEP, of_ubuntu, tmp_path) >= 8


def test_a_second_run_changes_nothing(node: Node) -> None:
    STEP.apply(node)
    twice = again(node)
    STEP.apply(twice)
    USERS.apply(twice)
    assert twice.host.changes == []


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path) -> None:
    assert converges(STEP, fresh, tmp_path) >= 8


def test_an_incomplete_key_of_a_killed_node_is_made_again(node: Node) -> None:
    file(node.host.root, f"/fsx/home/alice/.ssh/.llm-fleet-key-on-{NAME}", "PRIV")
    STEP.apply(node)
    STEP.verify(node)
    assert not node.host.path(f"/fsx/home/alice/.ssh/.llm-fleet-key-on-{NAME}").exists()


def test_of_two_nodes_only_one_makes_the_key(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def other_is_first(source: Path, target: Path) -> None:
        file(node.host.root, "/fsx/home/alice/.ssh/id_ed25519", "PRIVATE first\n", 0o600)
        real(source, target)

    monkeypatch.setattr(own_key.os, "link", other_is_first)
    home = "/fsx/home/alice"
    own_key.make_own_key(node.host, user="alice", home=home, comment="alice@train", node_name="second")
    assert node.host.read(f"{home}/.ssh/id_ed25519") == "PRIVATE first\n"
    assert node.host.read(f"{home}/.ssh/id_ed25519.pub") == "ssh-ed25519 PUBLICfirst\n"
    assert "PUBLICfirst" in (node.host.read(f"{home}/.ssh/authorized_keys") or "")
    assert not node.host.path(f"{home}/.ssh/.llm-fleet-key-on-second").exists()


def test_an_existing_key_of_the_user_is_used(node: Node) -> None:
    file(node.host.root, "/fsx/home/alice/.ssh/id_ed25519", "ENCRYPTED\n", 0o600)
    file(node.host.root, "/fsx/home/alice/.ssh/id_ed25519.pub", "ssh-ed25519 OWN alice\n")
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read("/fsx/home/alice/.ssh/id_ed25519") == "ENCRYPTED\n"
    assert "ssh-ed25519 OWN alice" in (node.host.read("/fsx/home/alice/.ssh/authorized_keys") or "")


def test_a_replaced_node_shares_its_new_host_keys(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 NEWHOST root@image\n")
    assert_fails(Code.SSH_BETWEEN_NODES, STEP.verify, node, match="does not have this node's host keys")
    STEP.apply(node)
    STEP.verify(node)


def test_the_lookup_prints_only_keys_of_nodes(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/fsx/home/.llm-fleet/ssh/secret", "out of reach\n")
    program_ = str(node.host.path(host_keys.PROGRAM))
    for requested in ("github.com", "", "../secret", ".", "[10.0.0.1]:22", "a b", "$(id)"):
        ended = subprocess.run([program_, requested], capture_output=True, text=True)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert subprocess.run([program_, NAME], capture_output=True, text=True).stdout.startswith(f"{NAME} ssh-ed25519 ")


def test_addresses_that_the_platform_lists_are_names_too(node: Node) -> None:
    own = Instance("workers", "Compute-1", "i-1", "10.1.0.12")
    other = Instance("workers", "Compute-2", "i-2", "10.1.0.13")
    listed = replace(node, identity=replace(node.identity, neighbors=(own, other)))
    assert host_keys.own_names(listed) == [NAME, "10.1.0.12"]


def test_verify_detects_a_user_without_the_key(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/fsx/home/bob/.ssh/authorized_keys", "", 0o600)
    assert_fails(Code.HOME_UNUSABLE, STEP.verify, node)


def test_verify_uses_a_login_and_not_only_files(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/usr/bin/ssh", "#!/bin/sh\necho 'Connection refused' >&2; exit 255\n", 0o755)
    assert_fails(Code.SSH_BETWEEN_NODES, STEP.verify, node, match="Connection refused")


def test_on_a_compute_node_no_one_logs_in_and_sshd_must_answer(tmp_path: Path) -> None:
    node = fresh(tmp_path, role="Compute")
    file(tmp_path, "/usr/bin/ssh", "#!/bin/sh\necho 'Access denied by pam_slurm_adopt' >&2; exit 255\n", 0o755)
    STEP.apply(node)
    STEP.verify(node)
    for shown, says in (
        ("down", "Connection refused"),
        ("ssh-ed25519 IMPOSTOR\n", "IMPOSTOR"),
        ("ssh-rsa IMPOSTOR\n", "IMPOSTOR"),
        ("", "shows no host key"),
    ):
        file(tmp_path, "/shown", shown)
        assert_fails(Code.SSH_BETWEEN_NODES, STEP.verify, node, match=says)


def test_a_compute_node_waits_while_sshd_penalizes_connections(tmp_path: Path) -> None:
    node = fresh(tmp_path, role="Compute")
    STEP.apply(node)
    file(tmp_path, "/penalty", "closed by remote host\nreset by peer\nreset by peer\nreset by peer\n")
    STEP.verify(node)
    assert node.host.read("/penalty") == ""


def test_the_wait_for_sshd_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = fresh(tmp_path, role="Compute")
    STEP.apply(node)
    file(tmp_path, "/penalty", "closed by remote host\n" * 1000)
    monkeypatch.setattr(host_keys, "_PENALTY_SECONDS", 0.2)
    assert_fails(Code.SSH_BETWEEN_NODES, STEP.verify, node, match="closes each connection")


@pytest.mark.parametrize("path", ["/.ssh", "/.ssh/authorized_keys"])
def test_keys_that_sshd_ignores_are_reported(node: Node, path: str) -> None:
    STEP.apply(node)
    place = node.host.path(f"/fsx/home/bob{path}")
    place.chmod(place.stat().st_mode | 0o020)
    with pytest.raises(Failure, match="StrictModes"):
        STEP.verify(node)
    STEP.apply(node)
    STEP.verify(node)


def test_a_writable_home_of_a_user_is_only_logged(node: Node) -> None:
    node.host.path("/fsx/home/alice").chmod(0o775)
    file(node.host.root, "/usr/bin/ssh", "#!/bin/sh\necho 'Permission denied' >&2; exit 255\n", 0o755)
    alone = replace(node, manifest=replace(node.manifest, users=(ALICE,)))
    STEP.apply(alone)
    STEP.verify(alone)
    assert "sshd ignores keys of alice until `chmod go-w /fsx/home/alice`" in said(node)
    assert node.host.path("/fsx/home/alice").stat().st_mode & 0o777 == 0o775
    node.host.path("/fsx/home/alice").chmod(0o755)
    with pytest.raises(Failure, match="Permission denied"):
        STEP.verify(alone)


def test_missing_host_keys_are_reported(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_keys, "_SECONDS", 0.1)
    for key in node.host.path("/etc/ssh").glob("*.pub"):
        key.unlink()
    with pytest.raises(Failure, match="no host key in /etc/ssh"):
        STEP.apply(node)


def test_an_unmounted_file_system_is_reported(node: Node) -> None:
    file(node.host.root, "/proc/self/mounts", "")
    for action in (STEP.apply, STEP.verify):
        assert_fails(Code.HOME_UNUSABLE, action, node)


def test_without_shared_storage_host_keys_are_accepted_at_the_first_connection(tmp_path: Path) -> None:
    lay_down(tmp_path)
    program(tmp_path, "ssh", SSH)
    node = make(tmp_path, users=[ALICE])
    STEP.apply(node)
    STEP.verify(node)
    assert "Host ip-*" in (node.host.read(host_keys.CLIENT_CONFIG) or "")
    assert "users need an SSH agent" in said(node)
    assert applied(STEP, node) == []
    file(tmp_path, host_keys.CLIENT_CONFIG, "")
    with pytest.raises(Failure, match=r"ssh does not use .*: check that ssh_config includes it"):
        STEP.verify(node)


def test_it_is_skipped_without_users_or_ssh(tmp_path: Path) -> None:
    without = make(tmp_path)
    assert "the platform sets up ssh between nodes" in (STEP.skip(replace(without, hook=ON_INIT_COMPLETE)) or "")
    assert "share no file system" in (STEP.skip(replace(without, hook=ON_CREATE)) or ""), "no shared file system"
    assert STEP.skip(make(tmp_path, users=[ALICE])) == "the node has no ssh"
    program(tmp_path, "ssh", SSH)
    assert STEP.skip(make(tmp_path, users=[ALICE])) is None
