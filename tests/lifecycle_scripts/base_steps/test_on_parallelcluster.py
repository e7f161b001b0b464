"""Disks and file systems on AWS ParallelCluster, which has mounted them: they are verified and tuned."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node import disks
from llm_fleet_node.failures import Failure
from llm_fleet_node.mounts.lustre_efa import UNIT
from llm_fleet_node.node import Node
from llm_fleet_node.steps import disks as disks_step
from llm_fleet_node.steps import lustre_efa, mount_lustre, mount_open_zfs
from tests.lifecycle_scripts.base_steps.disk_fixtures import EBS, array, disk, makers
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, lustre, mount_line, open_zfs
from tests.lifecycle_scripts.base_steps.test_lustre_efa import UMOUNT, with_efa
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import TRN1, file, program

SERVER = "fs-1.fsx.us-west-2.amazonaws.com"
DEVICE = f"{SERVER}@tcp:/abcdefgh"
FSTAB = f"{DEVICE} /fsx lustre defaults,noatime,flock,_netdev 0 0\n"


def of_parallelcluster(root: Path, **manifest: Any) -> Node:
    return build(root, TRN1, platform="parallelcluster", **manifest)


def with_scratch(root: Path) -> Node:
    """A node whose instance store is one logical volume, mounted at `EphemeralVolume/MountDir`."""
    node = of_parallelcluster(root)
    for number in range(1, 5):
        disk(root, f"nvme{number}n1", f"259:{number * 10}")
    array(root, "dm-0", "253:0", *(f"nvme{number}n1" for number in range(1, 5)))
    (root / "local_scratch").mkdir(mode=0o755)
    line = mount_line("/local_scratch", "/dev/mapper/vg.01-lv_ephemeral", "ext4", number="253:0")
    file(root, "/proc/self/mountinfo", ROOT_MOUNT + line)
    return node


def test_parallelclusters_scratch_is_used_and_writable_for_all(tmp_path: Path) -> None:
    node = with_scratch(tmp_path)
    applied(disks_step.STEP, node)
    found = disks.read(node.host)
    assert (found.place, found.kind, found.docker) == ("/local_scratch", "nvme", "/local_scratch/docker")
    assert (tmp_path / "local_scratch").stat().st_mode & 0o7777 == 0o1777
    assert applied(disks_step.STEP, node) == []
    (tmp_path / "local_scratch").chmod(0o755)
    with pytest.raises(Failure, match="LFN45  /local_scratch has mode 755, not 1777"):
        disks_step.STEP.verify(node)


@pytest.mark.parametrize(
    ("device", "kind", "number", "place"),
    [
        ("tmpfs", "tmpfs", "0:99", "/scratch"),  # a disk that the kernel's list does not have
        ("/dev/nvme9n1", "ext4", "259:90", "/local_scratch"),  # an EBS volume: shared storage
        ("10.1.0.5:/scratch", "nfs4", "0:99", "/local_scratch"),
    ],
)
def test_parallelclusters_scratch_setting_is_used_unless_another_file_system_is_mounted(
    tmp_path: Path, device: str, kind: str, number: str, place: str
) -> None:
    node = with_scratch(tmp_path)
    disk(tmp_path, "nvme9n1", "259:90", EBS)
    file(tmp_path, "/etc/parallelcluster/cfnconfig", "cfn_ephemeral_dir=/scratch\n")
    (tmp_path / "scratch").mkdir()
    table = tmp_path / "proc/self/mountinfo"
    table.write_text(table.read_text() + mount_line("/scratch", device, kind, number=number))
    applied(disks_step.STEP, node)
    assert disks.read(node.host).place == place


def test_using_the_scratch_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(disks_step.STEP, with_scratch, tmp_path) >= 5


def test_disks_that_parallelcluster_does_not_use_are_not_changed(tmp_path: Path) -> None:
    node = of_parallelcluster(tmp_path)
    disk(tmp_path, "nvme1n1", "259:10")
    makers(tmp_path)  # it could make a file system; on HyperPod it does
    applied(disks_step.STEP, node)
    assert disks.read(node.host).kind == "root"


def test_lustre_is_verified_and_not_mounted(tmp_path: Path) -> None:
    node = of_parallelcluster(tmp_path, mounts=(lustre(),))
    file(tmp_path, "/etc/fstab", FSTAB)
    with pytest.raises(Failure, match=r"LFN51  AWS ParallelCluster has mounted nothing at /fsx"):
        applied(mount_lustre.STEP, node)
    assert (tmp_path / "etc/fstab").read_text() == FSTAB
    (tmp_path / "fsx").mkdir()
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/fsx", DEVICE, "lustre", options="rw"))
    assert applied(mount_lustre.STEP, node) == []
    other = ROOT_MOUNT + mount_line("/fsx", "fs-9.example@tcp:/abcdefgh", "lustre", options="rw")
    file(tmp_path, "/proc/self/mountinfo", other)
    with pytest.raises(Failure, match="LFN51  fs-9"):
        mount_lustre.STEP.verify(node)


@pytest.mark.parametrize("volume", ["fsx", "fsx/home"])
def test_any_volume_of_the_configured_open_zfs_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, volume: str
) -> None:
    def fchown(_: int, user: int, group: int) -> None:
        """Only root can change the owner of files."""

    monkeypatch.setattr(os, "fchown", fchown)
    node = of_parallelcluster(tmp_path, mounts=(open_zfs(),))
    (tmp_path / "home").mkdir()
    line = mount_line("/home", f"{SERVER}:/{volume}", "nfs4", options="rw")
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + line)
    assert applied(mount_open_zfs.STEP, node) == []
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT + line.replace("fs-1", "fs-9"))
    with pytest.raises(Failure, match="LFN51  fs-9"):
        mount_open_zfs.STEP.verify(node)


def over_tcp(root: Path) -> Node:
    """A node with EFA on which ParallelCluster has mounted Lustre over TCP."""
    with_efa(root)
    node = of_parallelcluster(root, mounts=(lustre(efa=True),))
    file(root, "/etc/fstab", FSTAB)
    (root / "fsx").mkdir()
    file(root, "/proc/self/mountinfo", ROOT_MOUNT + mount_line("/fsx", DEVICE, "lustre", options="rw"))
    program(root, "umount", UMOUNT)
    return node


def test_lustre_is_mounted_again_over_efa_with_parallelclusters_fstab_entry(tmp_path: Path) -> None:
    node = over_tcp(tmp_path)
    changes = applied(mount_lustre.STEP, node)
    assert changes[0] == "unmounted /fsx, which was mounted over TCP"
    assert changes[-1] == "mounted /fsx again"
    assert f"started {UNIT}" in changes
    assert (tmp_path / "etc/fstab").read_text() == FSTAB
    assert applied(mount_lustre.STEP, node) == []


def test_moving_to_efa_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(mount_lustre.STEP, over_tcp, tmp_path, ignore=["/lnet-looks"]) >= 4


def test_lustre_in_use_is_not_unmounted_and_the_node_is_degraded(tmp_path: Path) -> None:
    node = over_tcp(tmp_path)
    file(tmp_path, "/busy", "")
    assert applied(mount_lustre.STEP, node) == []
    with pytest.raises(Failure, match="LFN52  LNet has no EFA network"):
        lustre_efa.STEP.verify(node)
