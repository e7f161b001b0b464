"""The step disks."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from llm_fleet_node import disks
from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.steps.disks import STEP
from tests.lifecycle_scripts.base_steps.disk_fixtures import array, disk, makers
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, build, mount_line
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import TRN1, file, said
from tests.pains.reported import reported

STARTED = "dlami-nvme.service"


def dlami(root: Path) -> Node:
    """A node whose AMI has the service that mounts the instance store."""
    node = build(root, TRN1)
    disk(root, "nvme1n1", "259:10")
    file(root, f"/usr/lib/systemd/system/{STARTED}", "[Service]\n")
    line = mount_line("/opt/dlami/nvme", "/dev/nvme1n1", "ext4", number="259:10")
    (root / "opt/dlami/nvme").mkdir(parents=True)
    file(root, f"/on-start/{STARTED}", f"pathlib.Path(root, 'proc/self/mountinfo').open('a').write({line!r})\n")
    return node


def bare(root: Path, count: int = 4) -> Node:
    """A node with unused instance store disks, and the programs to use them."""
    node = build(root, TRN1)
    for number in range(1, count + 1):
        disk(root, f"nvme{number}n1", f"259:{number * 10}")
    makers(root)
    return node


def test_with_only_a_root_volume_everything_is_below_var_lib(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    found = disks.read(node.host)
    assert (found.place, found.kind, found.docker) == ("/var/lib", "root", "/var/lib/docker")
    assert said(node) == "large data goes to /var/lib: the node has only its root volume"
    modes = {path: (tmp_path / path.lstrip("/")).stat().st_mode & 0o7777 for path in found.folders()}
    assert modes == found.folders()
    assert modes["/var/lib/scratch"] == 0o1777
    assert modes["/var/lib/containerd"] == 0o700


def test_a_second_run_changes_nothing_and_it_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(STEP, build, tmp_path) == 7


def test_the_amis_service_is_waited_for(tmp_path: Path) -> None:
    node = dlami(tmp_path)
    assert f"started {STARTED}" in applied(STEP, node)
    assert disks.read(node.host).docker == "/opt/dlami/nvme/docker"
    assert applied(STEP, node) == []


def test_the_amis_service_is_not_started_on_a_node_without_an_instance_store(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, f"/usr/lib/systemd/system/{STARTED}", "[Service]\n")
    assert f"started {STARTED}" not in applied(STEP, node)


def test_a_service_that_ends_without_a_mount_is_reported(tmp_path: Path) -> None:
    node = dlami(tmp_path)
    (tmp_path / "on-start" / STARTED).unlink()
    with pytest.raises(Failure, match=r"LFN45  dlami-nvme\.service has ended, but /opt/dlami/nvme is not mounted"):
        STEP.apply(node)


def test_a_service_that_fails_is_reported(tmp_path: Path) -> None:
    node = dlami(tmp_path)
    file(tmp_path, f"/on-start/{STARTED}", "sys.exit('no devices found')")
    with pytest.raises(Failure, match=r"LFN45  dlami-nvme\.service has not mounted .*: no devices found"):
        STEP.apply(node)


def test_disks_of_the_amis_array_are_never_reused(tmp_path: Path) -> None:
    node = dlami(tmp_path)
    makers(tmp_path)
    STEP.apply(node)
    assert not (tmp_path / "mkfs").exists()


def test_unused_disks_become_one_array(tmp_path: Path) -> None:
    node = bare(tmp_path)
    changes = applied(STEP, node)
    assert "made the array /dev/md/llm-fleet of /dev/nvme1n1, /dev/nvme2n1, /dev/nvme3n1, /dev/nvme4n1" in changes
    assert disks.read(node.host).place == "/opt/nvme"
    fstab = (tmp_path / "etc/fstab").read_text()
    assert "LABEL=llm-fleet /opt/nvme auto noatime,nofail,x-systemd.device-timeout=30 0 0\n" in fstab
    assert applied(STEP, node) == []


def test_one_unused_disk_needs_no_array(tmp_path: Path) -> None:
    changes = applied(STEP, bare(tmp_path, 1))
    assert "made a file system on /dev/nvme1n1" in changes
    assert not (tmp_path / "sys/block/md127").exists()


@pytest.mark.parametrize("count", [1, 4])
def test_building_the_array_converges_after_a_kill(tmp_path: Path, count: int) -> None:
    assert converges(STEP, lambda root: bare(root, count), tmp_path) > 10


def test_after_a_reboot_the_array_is_mounted_and_not_wiped(tmp_path: Path) -> None:
    node = bare(tmp_path)
    applied(STEP, node)
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT)
    file(tmp_path, "/opt/nvme/kept", "")
    assert applied(STEP, node) == ["mounted /dev/md127 at /opt/nvme"]


def test_a_disk_with_data_is_not_changed(tmp_path: Path) -> None:
    node = bare(tmp_path, 2)
    file(tmp_path, "/carries/dev-nvme2n1", "")
    with pytest.raises(Failure, match="LFN45  /dev/nvme2n1 is not mounted but contains data"):
        STEP.apply(node)
    assert not (tmp_path / "mkfs").exists()


def test_without_the_programs_the_disks_stay_unused(tmp_path: Path) -> None:
    node = bare(tmp_path)
    (tmp_path / "usr/bin/mdadm").unlink()
    applied(STEP, node)
    assert disks.read(node.host).kind == "root"


def test_a_foreign_array_is_not_changed(tmp_path: Path) -> None:
    node = bare(tmp_path, 2)
    array(tmp_path, "md5", "9:5", "nvme1n1", "nvme2n1")
    applied(STEP, node)
    assert disks.read(node.host).kind == "root"


def test_a_lost_mount_is_reported(tmp_path: Path) -> None:
    node = dlami(tmp_path)
    applied(STEP, node)
    file(tmp_path, "/proc/self/mountinfo", ROOT_MOUNT)
    with pytest.raises(Failure, match="LFN45  large data goes to /opt/dlami/nvme, but nothing is mounted there"):
        STEP.verify(node)


def test_a_missing_folder_is_reported_and_made_again(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    (tmp_path / "var/lib/docker").rmdir()
    with pytest.raises(Failure, match="LFN45  /var/lib/docker does not exist"):
        STEP.verify(node)
    assert applied(STEP, node) == ["made the folder /var/lib/docker"]


def test_a_folder_with_another_mode_is_reported(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    (tmp_path / "var/lib/scratch").chmod(0o755)
    with pytest.raises(Failure, match="LFN45  /var/lib/scratch has mode 755, not 1777"):
        STEP.verify(node)


@pytest.mark.parametrize(
    ("free", "files", "words"),
    [
        (4, 10**6, r"/var/lib has 4\.0 GiB free of 100\.0 GiB; 5\.0 GiB are required"),
        (90, 9_999, "/var/lib has 9999 free inodes"),
    ],
)
def test_a_full_disk_is_reported_with_free_and_required_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, files: int, words: str
) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    there = SimpleNamespace(f_bavail=free << 18, f_frsize=4096, f_blocks=100 << 18, f_files=10**7, f_favail=files)

    def statvfs(_: object) -> SimpleNamespace:
        return there

    monkeypatch.setattr(os, "statvfs", statvfs)
    with pytest.raises(Failure, match=f"LFN46  {words}") as failure:
        STEP.verify(node)
    reported(
        5,
        failure.value,
        "remedy: free space on the disk in the message, or give the instance group a larger secondary EBS volume",
    )


def test_a_full_root_volume_is_reported_if_large_data_is_on_another_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = dlami(tmp_path)
    applied(STEP, node)
    real = os.statvfs
    full = SimpleNamespace(f_bavail=1 << 17, f_frsize=4096, f_blocks=25 << 18, f_files=10**7, f_favail=10**6)

    def statvfs(path: Path) -> os.statvfs_result | SimpleNamespace:
        return full if Path(path) == tmp_path else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)
    with pytest.raises(Failure, match=r"LFN46  / has 512 MiB free of 25\.0 GiB; 1\.0 GiB are required"):
        STEP.verify(node)


def test_a_users_link_in_scratch_is_not_followed(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    file(tmp_path, "/etc/shadow", "root:*:::::::\n")
    (tmp_path / "var/lib/scratch/.llm-fleet-ip-10-1-0-12").symlink_to(tmp_path / "etc/shadow")
    STEP.verify(node)
    assert (tmp_path / "etc/shadow").read_text() == "root:*:::::::\n"
    assert list((tmp_path / "var/lib/scratch").iterdir()) == []


def test_a_users_folder_in_scratch_does_not_prevent_the_test_file(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    theirs = tmp_path / "var/lib/scratch/.llm-fleet-ip-10-1-0-12"
    (theirs / "full").mkdir(parents=True)
    STEP.verify(node)
    assert list((tmp_path / "var/lib/scratch").iterdir()) == [theirs]


def test_reading_the_layout_before_the_step_fails(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"LFN45  /etc/llm-fleet/disks\.json does not exist"):
        disks.read(Host(tmp_path))


@pytest.mark.parametrize("text", ["{", json.dumps({"place": "/x"})])
def test_an_invalid_layout_file_is_reported(tmp_path: Path, text: str) -> None:
    file(tmp_path, disks.FILE, text)
    with pytest.raises(Failure, match=r"LFN45  .* is not valid"):
        disks.read(Host(tmp_path))
