"""The choice of the disk for large data, with the disks of real instance types."""

from pathlib import Path

import pytest

from llm_fleet_node.disks.device import devices
from llm_fleet_node.disks.plan import Plan, plan
from llm_fleet_node.host import Host
from llm_fleet_node.mounts.table import mounted
from tests.lifecycle_scripts.base_steps.disk_fixtures import EBS, array, disk
from tests.lifecycle_scripts.base_steps.node_with_systemd import ROOT_MOUNT, mount_line
from tests.lifecycle_scripts.step_node import file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Every node's root disk, with three partitions."""
    disk(tmp_path, "nvme0n1", "259:0", EBS, gib=100, partitions=3)
    return tmp_path


def planned(root: Path, *lines: str, may_build: bool = True) -> Plan:
    file(root, "/proc/self/mountinfo", ROOT_MOUNT + "".join(lines))
    return plan(devices(Host(root)), mounted(Host(root)), may_build=may_build)


def store(root: Path, count: int = 4) -> list[str]:
    names = [f"nvme{number}n1" for number in range(1, count + 1)]
    for number, name in enumerate(names, start=1):
        disk(root, name, f"259:{number * 10}")
    return names


def test_a_node_with_only_a_root_volume(root: Path) -> None:
    found = planned(root)
    assert (found.place, found.kind, found.build_from, found.idle) == ("/var/lib", "root", (), ())


def test_hyperpod_trainium_has_an_array_at_the_amis_path(root: Path) -> None:
    array(root, "dm-0", "253:0", *store(root))
    found = planned(
        root,
        mount_line("/opt/sagemaker", "/dev/nvme5n1", "xfs", number="259:50"),
        mount_line("/opt/dlami/nvme", "/dev/mapper/vg.01-lv_ephemeral", "ext4", number="253:0"),
    )
    assert (found.place, found.kind) == ("/opt/dlami/nvme", "nvme")
    assert found.why == "the instance store is mounted at /opt/dlami/nvme (/dev/mapper/vg.01-lv_ephemeral)"


def test_hyperpod_without_an_instance_store_uses_the_secondary_volume(root: Path) -> None:
    disk(root, "nvme1n1", "259:10", EBS, gib=500)
    found = planned(root, mount_line("/opt/sagemaker", "/dev/nvme1n1", "xfs", number="259:10"))
    assert (found.place, found.kind) == ("/opt/sagemaker", "ebs")


def test_a_folder_opt_sagemaker_on_the_root_volume_is_not_a_volume(root: Path) -> None:
    (root / "opt/sagemaker").mkdir(parents=True)
    assert planned(root).kind == "root"


def test_parallelclusters_logical_volume_is_found_wherever_it_is_mounted(root: Path) -> None:
    array(root, "dm-0", "253:0", *store(root))
    found = planned(root, mount_line("/scratch", "/dev/mapper/vg.01-lv_ephemeral", "ext4", number="253:0"))
    assert (found.place, found.kind) == ("/scratch", "nvme")


def test_one_disk_mounted_without_an_array(root: Path) -> None:
    store(root, 1)
    assert planned(root, mount_line("/local", "/dev/nvme1n1", "xfs", number="259:10")).place == "/local"


def test_a_mounted_partition_of_the_store_counts(root: Path) -> None:
    disk(root, "nvme1n1", "259:10", partitions=1)
    assert planned(root, mount_line("/local", "/dev/nvme1n1p1", "xfs", number="259:11")).place == "/local"


def test_the_largest_of_several_mounts_is_used(root: Path) -> None:
    array(root, "md127", "9:127", *store(root, 4)[1:])
    found = planned(
        root,
        mount_line("/small", "/dev/nvme1n1", "xfs", number="259:10"),
        mount_line("/large", "/dev/md127", "xfs", number="9:127"),
    )
    assert found.place == "/large"


def test_an_array_of_both_kinds_of_disks_is_not_an_instance_store(root: Path) -> None:
    store(root, 1)
    disk(root, "nvme9n1", "259:90", EBS)
    array(root, "md127", "9:127", "nvme1n1", "nvme9n1")
    assert planned(root, mount_line("/mixed", "/dev/md127", "xfs", number="9:127")).kind == "root"


def test_unused_disks_are_used(root: Path) -> None:
    names = store(root)
    found = planned(root)
    assert (found.place, found.kind, found.build_from) == ("/opt/nvme", "nvme", tuple(names))


def test_unused_disks_stay_unused_if_building_is_not_allowed(root: Path) -> None:
    names = store(root)
    found = planned(root, may_build=False)
    assert (found.kind, found.build_from, found.idle) == ("root", (), tuple(names))


def test_disks_in_use_are_never_used(root: Path) -> None:
    names = store(root, 3)
    array(root, "md127", "9:127", names[0])  # held by an array that is not mounted
    disk(root, "nvme8n1", "259:80", partitions=1)
    found = planned(root)
    assert found.build_from == tuple(names[1:])
    assert found.idle == (names[0], "nvme8n1")


def test_a_bind_mount_of_a_container_is_ignored(root: Path) -> None:
    store(root, 1)
    found = planned(root, mount_line("/etc/resolv.conf", "/dev/nvme1n1", "xfs", number="259:10"))
    assert found.kind == "root"
    assert found.build_from == ()


def test_loop_devices_and_ram_disks_are_ignored(root: Path) -> None:
    for name in ("loop0", "ram0", "zram0"):
        file(root, f"/sys/block/{name}/dev", "7:0\n")
    assert [device.name for device in devices(Host(root))] == ["nvme0n1"]


def test_a_machine_without_block_devices(tmp_path: Path) -> None:
    assert devices(Host(tmp_path)) == []
    assert planned(tmp_path).kind == "root"
