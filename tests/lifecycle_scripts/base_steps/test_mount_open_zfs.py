"""The step mount_open_zfs."""

import os
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.mount_open_zfs import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, mount_line, open_zfs
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import file, program, said

SERVER = "fs-1.fsx.us-west-2.amazonaws.com"
LINE = (
    f"{SERVER}:/fsx /home nfs4 noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576,hard,timeo=600,"
    "_netdev,x-systemd.mount-timeout=90 0 0\n"
)


@pytest.fixture(autouse=True)
def root_owns_all(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Records changes of file owners, which only root can make."""
    given: list[tuple[int, int]] = []

    def fchown(_: int, user: int, group: int) -> None:
        given.append((user, group))

    monkeypatch.setattr(os, "fchown", fchown)
    return given


def with_client(root: Path) -> Node:
    node = build(root, mounts=(open_zfs(),))
    program(root, "mount.nfs4", "sys.exit('only mount(8) runs this')")
    return node


def test_it_is_mounted_now_and_at_each_boot(tmp_path: Path, root_owns_all: list[tuple[int, int]]) -> None:
    node = with_client(tmp_path)
    assert applied(STEP, node) == ["made the folder /home", "wrote /etc/fstab", f"mounted {SERVER}:/fsx at /home"]
    assert LINE in (tmp_path / "etc/fstab").read_text()
    assert root_owns_all == [(65534, 65534)]
    assert list((tmp_path / "home").iterdir()) == []
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, with_client, tmp_path) == 3


def test_an_nfs_3_mount_of_the_platform_is_accepted_with_a_log_line(tmp_path: Path) -> None:
    """Source: assumption platform-mounts-openzfs-by-nfs-4."""
    node = with_client(tmp_path)
    (tmp_path / "home").mkdir()
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/home", f"{SERVER}:/fsx", "nfs"))
    assert applied(STEP, node) == []
    assert said(node).startswith("the platform has mounted /home with NFS 3")
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/home", f"{SERVER}:/fsx", "cifs"))
    with pytest.raises(Failure, match="LFN51"):
        STEP.verify(node)


def test_a_fleet_without_one_is_skipped(tmp_path: Path) -> None:
    assert STEP.skip(build(tmp_path)) == "group workers has no OpenZFS file system"


def test_a_missing_export(tmp_path: Path) -> None:
    node = with_client(tmp_path)
    file(tmp_path, "/mount-says", "mount.nfs4: mounting x failed, reason given by server: No such file or directory")
    with pytest.raises(Failure, match=f"LFN49  {SERVER} has no /fsx for this node"):
        STEP.apply(node)


def test_a_root_user_that_cannot_change_owners_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = with_client(tmp_path)
    STEP.apply(node)

    def fchown(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", fchown)
    with pytest.raises(Failure, match="LFN53  root cannot create a file in /home and change its owner: Operation not"):
        STEP.verify(node)
    assert list((tmp_path / "home").iterdir()) == []


def test_root_squash_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = with_client(tmp_path)
    STEP.apply(node)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(Failure, match=f"LFN53  a file that root creates in /home belongs to {mine}"):
        STEP.verify(node)


def test_a_mount_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    node = with_client(tmp_path)
    STEP.apply(node)
    (tmp_path / "home").rmdir()
    with pytest.raises(Failure, match="LFN51  /home cannot be written"):
        STEP.verify(node)
