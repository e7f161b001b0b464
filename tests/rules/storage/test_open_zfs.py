"""What the FSx for OpenZFS API refuses of a file system and its volumes."""

from typing import Any

import pytest

from llm_fleet import Backups, OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.open_zfs import check_open_zfs, check_volume
from llm_fleet.rules.problem import Problem


def only(**wishes: Any) -> Problem:
    """The one problem that these wishes have."""
    (problem,) = check_open_zfs(OpenZfsSpec(**wishes))
    return problem


@pytest.mark.parametrize("deployment_type", open_zfs_limits().throughputs)
def test_the_defaults_of_every_type_are_sold(deployment_type: str):
    settings = OpenZfsSpec(deployment_type=deployment_type)
    chosen = settings.effective_throughput_capacity
    assert chosen >= 160
    assert check_open_zfs(OpenZfsSpec(deployment_type=deployment_type, throughput_capacity=chosen)) == []


@pytest.mark.parametrize(("size", "offer"), [(63, "take 64 GiB"), (524289, "take 524288 GiB"), (-1, "take 64 GiB")])
def test_a_size_out_of_range(size: int, offer: str):
    problem = only(storage_capacity_gib=size)
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_CAPACITY, ("storage_capacity_gib",))
    assert (problem.allowed, problem.remedy) == ("64 to 524288 GiB", offer)


@pytest.mark.parametrize("size", [64, 100, 524288])
def test_any_whole_size_in_range(size: int):
    assert check_open_zfs(OpenZfsSpec(storage_capacity_gib=size)) == []


@pytest.mark.parametrize(
    ("deployment_type", "throughput", "offer"),
    [
        ("SINGLE_AZ_HA_2", 200, "take 160 MB/s or 320 MB/s"),
        ("SINGLE_AZ_2", 64, "take 160 MB/s"),
        ("SINGLE_AZ_1", 160, "take 128 MB/s or 256 MB/s"),
        ("SINGLE_AZ_HA_1", 10240, "take 4096 MB/s"),
    ],
)
def test_a_throughput_that_is_not_sold(deployment_type: str, throughput: int, offer: str):
    problem = only(deployment_type=deployment_type, throughput_capacity=throughput)
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_THROUGHPUT, ("throughput_capacity",))
    assert problem.remedy == offer


def test_types_over_several_zones_are_not_offered():
    problem = only(deployment_type="MULTI_AZ_1")
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_TYPE, ("deployment_type",))
    assert "SINGLE_AZ_HA_2" in problem.allowed


@pytest.mark.parametrize(
    ("wishes", "path"),
    [({"disk_iops": 100}, "disk_iops"), ({"record_size_kib": 100}, "record_size_kib")],
)
def test_options_that_are_refused(wishes: dict[str, Any], path: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_OPTION, (path,))


def test_disk_iops_above_those_that_come_with_the_size():
    assert check_open_zfs(OpenZfsSpec(storage_capacity_gib=100, disk_iops=300)) == []
    assert only(storage_capacity_gib=100, disk_iops=299).allowed == "300 or more"


@pytest.mark.parametrize(
    ("wishes", "code"),
    [
        ({"compression": "GZIP"}, Code.FILE_SYSTEM_COMPRESSION),
        ({"backups": Backups(retention_days=91)}, Code.FILE_SYSTEM_BACKUP),
        ({"backups": Backups(start_time="25:00")}, Code.FILE_SYSTEM_TIME),
        ({"maintenance_start_time": "03:00"}, Code.FILE_SYSTEM_TIME),
    ],
)
def test_what_every_file_system_has_is_checked_too(wishes: dict[str, Any], code: Code):
    assert only(**wishes).code == code


@pytest.mark.parametrize("name", ["storage_capacity_gib", "throughput_capacity", "disk_iops", "record_size_kib"])
def test_what_is_known_only_at_deploy_time_is_let_pass(name: str):
    wishes: dict[str, Any] = {name: -1.888154589708e289}
    assert check_open_zfs(OpenZfsSpec(**wishes)) == []


def problems(name: str = "apps", quota_gib: int | None = None, capacity_gib: int = 512) -> list[Problem]:
    volume = OpenZfsVolumeSpec(quota_gib=quota_gib)
    return check_volume(volume, name, capacity_gib=capacity_gib, taken={"home": "it is the home"})


@pytest.mark.parametrize("name", ["apps", "A", "_x", "data-v1.2:b", "n" * open_zfs_limits().volume_name_length])
def test_names_that_pass(name: str):
    assert problems(name) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a/b", "write 'a-b'"),
        ("my apps", "write 'my-apps'"),
        (".zfs", "write 'zfs'"),
        ("apps\n", "write 'apps-'"),
        ("", "write a name such as 'apps'"),
        ("n" * 204, f"write '{'n' * 203}'"),
    ],
)
def test_names_that_are_refused(name: str, remedy: str):
    (problem,) = problems(name)
    assert (problem.code, problem.path, problem.value) == (Code.OPEN_ZFS_VOLUME_NAME, ("name",), name)
    assert problem.remedy == remedy


def test_a_name_that_is_taken():
    (problem,) = problems("home")
    assert (problem.code, problem.message) == (Code.OPEN_ZFS_VOLUME_NAME, "it is the home")


@pytest.mark.parametrize("quota", [1, 512])
def test_quotas_that_pass(quota: int):
    assert problems(quota_gib=quota) == []


@pytest.mark.parametrize(
    ("quota", "remedy"), [(0, "leave it out"), (-1, "leave it out"), (513, "take 512 GiB or less")]
)
def test_quotas_that_are_refused(quota: int, remedy: str):
    (problem,) = problems(quota_gib=quota)
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_QUOTA, ("quota_gib",))
    assert problem.allowed == "1 to 512 GiB"
    assert remedy in problem.remedy


def test_a_volume_that_is_known_only_at_deploy_time_is_let_pass():
    token = -1.888154589708e289
    assert problems(name="${Token[TOKEN.1]}") == []
    assert problems(quota_gib=token) == problems(quota_gib=600, capacity_gib=token) == []  # type: ignore[arg-type]
