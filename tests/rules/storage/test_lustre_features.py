"""What may be switched on, on which Lustre file system."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.problem import Problem

TOKEN: Any = -1.888154589708e289
TIERING: dict[str, Any] = {"storage_type": "INTELLIGENT_TIERING"}
HDD: dict[str, Any] = {"deployment_type": "PERSISTENT_1", "storage_type": "HDD"}


def wishing(**wishes: Any) -> LustreSettings:
    return LustreSettings(**wishes)


def only(**wishes: Any) -> Problem:
    """The one problem that these wishes have."""
    (problem,) = check_lustre(LustreSettings(**wishes))
    return problem


@pytest.mark.parametrize("deployment_type", ["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1"])
def test_efa_on_a_deployment_type_that_lacks_it(deployment_type: str):
    problem = only(deployment_type=deployment_type, efa_enabled=True)
    assert (problem.code, problem.path, problem.value) == (Code.LUSTRE_EFA, ("efa_enabled",), True)
    assert problem.remedy == "use PERSISTENT_2, or leave EFA out"


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_efa_comes_in_bigger_steps(throughput: int, step: int):
    fast: dict[str, Any] = {"per_unit_storage_throughput": throughput, "efa_enabled": True}
    assert check_lustre(LustreSettings(**fast, storage_capacity_gib=2 * step)) == []
    problem = only(**fast, storage_capacity_gib=step + 2400)
    assert problem.code == Code.LUSTRE_EFA
    assert problem.allowed == f"multiples of {step} GiB"
    assert problem.remedy.startswith(f"take {step} GiB or {2 * step} GiB")


def test_efa_needs_the_newest_lustre():
    problem = only(efa_enabled=True, storage_capacity_gib=19200, version="2.12")
    assert (problem.code, problem.remedy) == (Code.LUSTRE_EFA, "take Lustre 2.15, or leave EFA out")


@pytest.mark.parametrize(
    ("wishes", "efa"),
    [
        ({}, False),  # 1200 GiB
        ({"storage_capacity_gib": 4800}, False),
        ({"storage_capacity_gib": 4800, "per_unit_storage_throughput": 1000}, True),
        ({"storage_capacity_gib": 19200}, True),
        ({"storage_capacity_gib": 19200, "efa_enabled": False}, False),
        ({"storage_capacity_gib": 19200, "version": "2.12"}, False),
        ({"storage_capacity_gib": TOKEN}, False),
        ({"storage_capacity_gib": 19200, "per_unit_storage_throughput": TOKEN}, False),
        ({"deployment_type": "SCRATCH_2", "storage_capacity_gib": 19200}, False),
        (TIERING, True),
    ],
)
def test_efa_is_on_where_it_is_sure_to_be_possible(wishes: dict[str, Any], efa: bool):
    assert LustreSettings(**wishes).effective_efa is efa


@pytest.mark.parametrize("iops", [1500, 3000, 6000, 12000, 24000, 192000])
def test_metadata_iops_that_are_sold(iops: int):
    assert check_lustre(LustreSettings(metadata_iops=iops)) == []


@pytest.mark.parametrize(
    ("wishes", "remedy"),
    [
        ({"metadata_iops": 1000}, "take 1500 IOPS"),
        ({"metadata_iops": 20000}, "take 12000 IOPS or 24000 IOPS"),
        ({"metadata_iops": 204000}, "take 192000 IOPS"),
        ({**TIERING, "metadata_iops": 1500}, "take 6000 IOPS"),
        (
            {"deployment_type": "SCRATCH_2", "metadata_iops": 1500},
            "leave it out, or use PERSISTENT_2 with Lustre 2.15",
        ),
        ({"version": "2.12", "metadata_iops": 1500}, "leave it out, or use PERSISTENT_2 with Lustre 2.15"),
    ],
)
def test_metadata_iops_that_are_not(wishes: dict[str, Any], remedy: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.LUSTRE_METADATA, ("metadata_iops",))
    assert problem.remedy == remedy


@pytest.mark.parametrize(
    ("wishes", "allowed"),
    [
        ({"version": "2.10"}, "2.12 or 2.15"),
        ({"version": "2.16"}, "2.12 or 2.15"),
        ({"deployment_type": "SCRATCH_2", "version": "2.14"}, "2.10, 2.12 or 2.15"),
        ({**TIERING, "version": "2.12"}, "2.15"),
    ],
)
def test_versions_that_do_not_go_with_the_deployment_type(wishes: dict[str, Any], allowed: str):
    problem = only(**wishes)
    assert (problem.code, problem.path, problem.allowed) == (Code.LUSTRE_VERSION, ("version",), allowed)


def test_caches_belong_to_their_storage_types():
    assert only(drive_cache="READ").code == Code.LUSTRE_CACHE
    assert only(**HDD, drive_cache="WRITE").allowed == "NONE or READ"
    assert check_lustre(LustreSettings(**HDD, drive_cache="NONE")) == []
    assert only(read_cache="NO_CACHE").path == ("read_cache",)
    assert only(read_cache_gib=32).path == ("read_cache_gib",)
    assert only(**TIERING, read_cache="SOME").code == Code.LUSTRE_CACHE


@pytest.mark.parametrize(
    ("wishes", "remedy"),
    [
        ({"read_cache": "USER_PROVISIONED"}, "set its GiB"),
        ({"read_cache": "NO_CACHE", "read_cache_gib": 64}, "leave the size out"),
        ({"read_cache_gib": 31}, "take 32 to 131072 GiB"),
        ({"read_cache_gib": 63, "throughput_capacity": 8000}, "take 64 to 262144 GiB"),
    ],
)
def test_a_read_cache_is_sized_by_its_throughput(wishes: dict[str, Any], remedy: str):
    problem = only(**TIERING, **wishes)
    assert (problem.code, problem.path, problem.remedy) == (Code.LUSTRE_CACHE, ("read_cache_gib",), remedy)
    assert check_lustre(LustreSettings(**TIERING, read_cache_gib=64, throughput_capacity=8000)) == []


def test_scratch_takes_no_key_of_ones_own():
    problem = only(deployment_type="SCRATCH_2", own_key=True)
    assert (problem.code, problem.path) == (Code.FILE_SYSTEM_KEY, ("encryption_key",))
    assert check_lustre(LustreSettings(own_key=True)) == []


@pytest.mark.parametrize(
    ("wishes", "path"),
    [
        ({"backup_retention_days": 91}, "backup_retention_days"),
        ({"backup_retention_days": -1}, "backup_retention_days"),
        ({"deployment_type": "SCRATCH_2", "backup_retention_days": 7}, "backup_retention_days"),
        ({"deployment_type": "SCRATCH_2", "copy_tags_to_backups": True}, "copy_tags_to_backups"),
    ],
)
def test_backups_that_are_not_made(wishes: dict[str, Any], path: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.FILE_SYSTEM_BACKUP, (path,))


def test_backups_are_kept_for_a_week_where_they_exist():
    assert LustreSettings().effective_backup_retention_days == 7
    assert LustreSettings(deployment_type="SCRATCH_2").effective_backup_retention_days == 0
    assert check_lustre(LustreSettings(deployment_type="SCRATCH_2", backup_retention_days=0)) == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("backup_start_time", ["00:00", "23:59"], ["24:00", "5:00", "05:60", "0500", ""]),
        ("maintenance_start_time", ["1:00:00", "7:23:59"], ["0:00:00", "8:00:00", "Mon:03:00", "03:00"]),
    ],
)
def test_times_are_written_as_fsx_reads_them(name: str, good: list[str], bad: list[str]):
    for time in good:
        assert check_lustre(wishing(**{name: time})) == []
    for time in bad:
        problem = only(**{name: time})
        assert (problem.code, problem.path, problem.value) == (Code.FILE_SYSTEM_TIME, (name,), time)


def test_an_unknown_compression_is_answered_with_the_nearest():
    problem = only(compression="LZ5")
    assert (problem.code, problem.remedy) == (Code.FILE_SYSTEM_COMPRESSION, "write 'LZ4'")
