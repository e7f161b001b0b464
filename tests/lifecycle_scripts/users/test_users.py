"""Users on a node: made once, with the same ids on every node, without conflicts with other accounts."""

import fcntl
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.users import STEP
from llm_fleet_node.users import account_locks, authorized_keys, home
from llm_fleet_node.users.places import home_place
from tests.lifecycle_scripts.convergence import again, assert_fails, converges, snapshot
from tests.lifecycle_scripts.step_node import ALICE, BOB, file, make, mount, said
from tests.lifecycle_scripts.users.account_tools import lay_down

FSX = (mount("lustre", "/fsx"),)


def fresh(root: Path) -> Node:
    lay_down(root)
    return make(root, users=[ALICE, BOB], mounts=FSX)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return fresh(tmp_path)


def test_users_have_ids_home_keys_and_sudo(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    host = node.host
    assert "alice:x:2001:2001:llm-fleet:/fsx/home/alice:/bin/bash" in (host.read("/etc/passwd") or "")
    assert "alice:*:" in (host.read("/etc/shadow") or "")
    assert host.read("/fsx/home/alice/.bashrc") == "# from the skeleton\n"
    assert "ssh-ed25519 AAAAalice a@b" in (host.read("/fsx/home/alice/.ssh/authorized_keys") or "").splitlines()
    assert host.path("/fsx/home/alice/.ssh/authorized_keys").stat().st_mode & 0o777 == 0o600
    assert host.path("/fsx/home/alice").stat().st_mode & 0o777 == 0o700
    assert host.read("/fsx/home/bob/.ssh/authorized_keys") is None
    assert "alice ALL=" in (host.read("/etc/sudoers.d/llm-fleet") or "")
    assert "bob" not in (host.read("/etc/sudoers.d/llm-fleet") or "")
    assert host.path("/etc/sudoers.d/llm-fleet").stat().st_mode & 0o777 == 0o440


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path) -> None:
    assert converges(STEP, fresh, tmp_path) >= 8


def test_after_a_killed_useradd_the_password_is_locked(node: Node) -> None:
    file(node.host.root, "/die-in-useradd", "")
    with pytest.raises(Failure):
        STEP.apply(node)
    with pytest.raises(Failure) as failure:
        STEP.verify(again(node))
    assert "password of alice is not locked" in failure.value.cause
    STEP.apply(again(node))
    STEP.verify(again(node))
    assert "alice:*:" in (node.host.read("/etc/shadow") or "")


def test_a_lock_with_a_reused_process_id_is_removed(node: Node) -> None:
    file(node.host.root, "/etc/passwd.lock", "77")
    file(node.host.root, "/proc/77/comm", "sshd\n")
    STEP.apply(node)
    STEP.verify(node)


def test_a_lock_held_by_a_tool_is_waited_for_and_reported(node: Node) -> None:
    file(node.host.root, "/etc/group.lock", "77")
    file(node.host.root, "/proc/77/comm", "useradd\n")
    failure = assert_fails(Code.ACCOUNT_FILES, account_locks.wait_until_free, node.host, seconds=0.2)
    assert "/etc/group.lock" in failure.cause
    assert node.host.read("/etc/group.lock") == "77"


@pytest.mark.parametrize(
    ("user", "says"),
    [
        (replace(ALICE, name="ubuntu"), "user ubuntu has uid 1000"),
        (replace(ALICE, uid=1000), "uid 1000 of alice belongs to ubuntu here"),
        (replace(ALICE, gid=1000), "gid 1000 of group alice belongs to ubuntu here"),
    ],
)
def test_a_conflicting_name_or_id_is_reported_before_changes(tmp_path: Path, user: object, says: str) -> None:
    lay_down(tmp_path)
    node = make(tmp_path, users=[BOB, user])  # pyright: ignore[reportArgumentType]
    before = snapshot(tmp_path)
    failure = assert_fails(Code.USER_IDS, STEP.apply, node, match=says)
    assert failure.final
    assert snapshot(tmp_path) == before
    with pytest.raises(Failure, match=says):
        STEP.verify(node)


def test_a_group_with_another_gid_is_reported(tmp_path: Path) -> None:
    lay_down(tmp_path)
    file(tmp_path, "/etc/group", "root:x:0:\nalice:x:4000:\n")
    with pytest.raises(Failure, match="group alice has gid 4000 here"):
        STEP.apply(make(tmp_path, users=[ALICE]))


def test_users_who_share_a_gid_get_a_separate_group(tmp_path: Path) -> None:
    lay_down(tmp_path)
    node = make(tmp_path, users=[ALICE, replace(BOB, gid=2001)])
    STEP.apply(node)
    STEP.verify(node)
    assert "fleet-2001:x:2001:" in (node.host.read("/etc/group") or "")


def test_the_images_own_user_keeps_home_and_password(tmp_path: Path) -> None:
    lay_down(tmp_path)
    file(tmp_path, "/etc/shadow", "ubuntu:$y$hash:19000:0:99999:7:::\n")
    (tmp_path / "home/ubuntu").mkdir(parents=True)
    node = make(tmp_path, users=[replace(ALICE, name="ubuntu", uid=1000, gid=1000)], mounts=FSX)
    STEP.apply(node)
    STEP.verify(node)
    assert "ubuntu:x:1000:1000:Ubuntu:/home/ubuntu:" in (node.host.read("/etc/passwd") or "")
    assert "ubuntu:$y$hash" in (node.host.read("/etc/shadow") or "")
    assert "AAAAalice" in (node.host.read("/home/ubuntu/.ssh/authorized_keys") or "")


def test_a_changed_fleet_changes_homes_and_removes_sudo_and_keys(node: Node) -> None:
    STEP.apply(node)
    less = make(node.host.root, users=[replace(ALICE, sudo=False, ssh_public_keys=())])
    STEP.apply(less)
    STEP.verify(less)
    assert node.host.read("/etc/sudoers.d/llm-fleet") is None
    assert "alice:x:2001:2001:llm-fleet:/home/alice:" in (node.host.read("/etc/passwd") or "")
    assert "bob is no longer in the fleet file" in said(less)
    assert "bob:x:2002" in (node.host.read("/etc/passwd") or "")


def test_keys_that_the_user_added_are_kept(node: Node) -> None:
    STEP.apply(node)
    keys = "/fsx/home/alice/.ssh/authorized_keys"
    file(node.host.root, keys, "ssh-rsa OWN\n" + (node.host.read(keys) or "") + "ssh-rsa OTHER\n", 0o600)
    changed = make(node.host.root, users=[replace(ALICE, ssh_public_keys=("ssh-ed25519 NEW",)), BOB], mounts=FSX)
    STEP.apply(changed)
    STEP.verify(changed)
    text = node.host.read(keys) or ""
    assert "ssh-rsa OWN" in text
    assert "ssh-rsa OTHER" in text
    assert "AAAAalice" not in text


def test_verify_detects_a_removed_key(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/fsx/home/alice/.ssh/authorized_keys", "")
    assert_fails(Code.HOME_UNUSABLE, STEP.verify, node)


def test_verify_detects_a_missing_user(node: Node) -> None:
    with pytest.raises(Failure, match="the user alice does not exist"):
        STEP.verify(node)


def test_verify_detects_sudo_that_does_not_work(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/etc/sudoers.d/llm-fleet", "bob ALL=(ALL:ALL) NOPASSWD:ALL\n", 0o440)
    assert_fails(Code.SUDOERS, STEP.verify, node)


def test_verify_runs_sudo(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/usr/bin/sudo", "#!/bin/sh\necho 'User alice is not allowed to run sudo.'\n", 0o755)
    with pytest.raises(Failure, match="sudo does not let alice become root"):
        STEP.verify(node)


def test_a_file_that_visudo_rejects_is_not_installed(node: Node) -> None:
    file(node.host.root, "/usr/bin/visudo", "#!/bin/sh\necho broken; exit 1\n", 0o755)
    assert_fails(Code.SUDOERS, STEP.apply, node, match="broken")
    assert node.host.read("/etc/sudoers.d/llm-fleet") is None


def test_missing_sudo_on_the_node_is_reported(tmp_path: Path) -> None:
    lay_down(tmp_path, sudo=False)
    with pytest.raises(Failure, match="no visudo"):
        STEP.apply(make(tmp_path, users=[ALICE]))


def test_homes_are_not_made_below_an_empty_mount_point(node: Node) -> None:
    file(node.host.root, "/proc/self/mounts", "overlay / overlay rw 0 0\n")
    for action in (STEP.apply, STEP.verify):
        assert_fails(Code.HOME_UNUSABLE, action, node, match="nothing is mounted on /fsx")
    assert not node.host.path("/fsx").exists()


def test_a_home_that_is_a_file_is_reported(node: Node) -> None:
    file(node.host.root, "/fsx/home/alice", "")
    with pytest.raises(Failure, match="the folder /fsx/home/alice does not exist"):
        STEP.apply(node)


@pytest.mark.root
def test_a_home_of_another_user_is_reported_and_not_changed(node: Node) -> None:
    node.host.path("/fsx/home/alice").mkdir(parents=True)
    os.chown(node.host.path("/fsx/home/alice"), 4711, 4711)
    assert_fails(Code.HOME_OWNER, STEP.apply, node, match="belongs to uid 4711")
    assert node.host.path("/fsx/home/alice").stat().st_uid == 4711


def test_of_two_nodes_only_one_makes_the_home(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.rename

    def other_is_first(source: Path, target: Path) -> None:
        file(node.host.root, "/fsx/home/alice/thesis.txt", "of the first node")
        real(source, target)

    monkeypatch.setattr(home.os, "rename", other_is_first)
    home.make_home(node.host, ALICE, "/fsx/home/alice", "ip-10-1-0-12")
    assert node.host.read("/fsx/home/alice/thesis.txt") == "of the first node"
    assert [path.name for path in node.host.path("/fsx/home").iterdir()] == ["alice"]


def test_an_incomplete_home_of_a_killed_node_is_made_again(node: Node) -> None:
    file(node.host.root, "/fsx/home/.alice.new-on-ip-10-1-0-12/half", "")
    home.make_home(node.host, ALICE, "/fsx/home/alice", "ip-10-1-0-12")
    assert node.host.read("/fsx/home/alice/half") is None
    assert [path.name for path in node.host.path("/fsx/home").iterdir()] == ["alice"]


@pytest.mark.parametrize(
    ("mounts", "platform", "role", "folder", "shared", "mounted"),
    [
        ((), "hyperpod", "Compute", "/home", False, None),
        ((mount("lustre", "/fsx"),), "hyperpod", "Compute", "/fsx/home", True, "/fsx"),
        ((mount("lustre", "/fsx"), mount("open_zfs", "/zfs/")), "hyperpod", "Login", "/zfs/home", True, "/zfs"),
        ((mount("open_zfs", "/zfs"), mount("lustre", "/home")), "hyperpod", "Login", "/home", True, "/home"),
        ((mount("lustre", "/fsx", ("workers",)),), "hyperpod", "Compute", "/home", False, None),
        (
            (mount("lustre", "/fsx", ("controller", "login", "workers")),),
            "hyperpod",
            "Login",
            "/fsx/home",
            True,
            "/fsx",
        ),
        ((), "parallelcluster", "Controller", "/home", True, None),
        ((), "parallelcluster", "Compute", "/home", True, "/home"),
    ],
)
def test_parent_folder_of_homes(
    tmp_path: Path, mounts: object, platform: str, role: str, folder: str, shared: bool, mounted: str | None
) -> None:
    place = home_place(make(tmp_path, role=role, mounts=mounts, platform=platform))
    assert (place.folder, place.shared, place.mount) == (folder, shared, mounted)


def test_a_fleet_without_users_has_nothing_to_do(tmp_path: Path) -> None:
    lay_down(tmp_path)
    assert STEP.skip(make(tmp_path)) == "the fleet has no users"
    STEP.apply(make(tmp_path, users=[ALICE]))
    assert STEP.skip(make(tmp_path)) is None
    assert STEP.skip(make(tmp_path, users=[ALICE])) is None


def test_a_lock_held_by_a_user_does_not_fail_the_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    STEP.apply(node)
    monkeypatch.setattr(authorized_keys, "_SECONDS", 0.2)
    keys = node.host.path("/fsx/home/alice/.ssh/authorized_keys")
    whole = keys.read_text()
    keys.unlink()
    with open(keys.with_name(".llm-fleet.lock")) as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        STEP.apply(again(node))
    STEP.verify(node)
    assert keys.read_text() == whole


@pytest.mark.parametrize("spoilt", [".ssh", ".ssh/authorized_keys"])
def test_a_damaged_keys_file_of_a_user_does_not_fail_the_node(node: Node, spoilt: str) -> None:
    STEP.apply(node)
    place = node.host.path(f"/fsx/home/alice/{spoilt}")
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to("/dev/null")

    STEP.apply(again(node))
    STEP.verify(node)

    assert place.is_symlink()
    assert f"/fsx/home/alice/{spoilt} is not a f" in said(node)
