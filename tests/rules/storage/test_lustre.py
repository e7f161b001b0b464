"""What the FSx for Lustre API refuses, and what is offered in its place."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet import LustreBackups, LustreDeploymentType, LustreSpec, LustreStorageType, LustreThroughput
from llm_fleet.catalog.fsx import lustre_variants
from llm_fleet.rules.codes import Code
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.problem import Problem

TOKEN: Any = -1.888154589708e289
"""As the CDK encodes a number that is known only at deploy time."""
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
TIERING: dict[str, Any] = {"storage_type": LustreStorageType.INTELLIGENT_TIERING}
HDD: dict[str, Any] = {
    "deployment_type": LustreDeploymentType.PERSISTENT_1,
    "storage_type": LustreStorageType.HDD,
}


def only(**wishes: Any) -> Problem:
    """The one problem that these wishes have."""
    (problem,) = check_lustre(LustreSpec(**wishes))
    return problem


@pytest.mark.parametrize("variant", lustre_variants(), ids=str)
def test_the_defaults_of_every_variant_are_sold(variant: Any):
    types: dict[str, Any] = {
        "deployment_type": LustreDeploymentType(variant.deployment_type),
        "storage_type": LustreStorageType(variant.storage_type),
    }
    spec = LustreSpec(**types)
    assert check_lustre(spec) == []
    assert (
        check_lustre(
            LustreSpec(
                **types,
                storage_capacity_gib=spec.effective_capacity_gib,
                throughput=LustreThroughput(
                    per_tib=spec.effective_throughput, whole=spec.effective_throughput_capacity
                ),
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("wishes", "offer"),
    [
        ({"storage_capacity_gib": 1300}, "take 1200 GiB or 2400 GiB"),
        ({"storage_capacity_gib": 3600}, "take 2400 GiB or 4800 GiB"),
        ({"storage_capacity_gib": 1}, "take 1200 GiB"),
        ({"storage_capacity_gib": -2400}, "take 1200 GiB"),
        ({"storage_capacity_gib": 0}, "take 1200 GiB"),
        (
            {"deployment_type": LustreDeploymentType.SCRATCH_1, "storage_capacity_gib": 4800},
            "take 3600 GiB or 7200 GiB",
        ),
        (
            {"deployment_type": LustreDeploymentType.SCRATCH_2, "storage_capacity_gib": 1300},
            "take 1200 GiB or 2400 GiB",
        ),
        (
            {
                "deployment_type": LustreDeploymentType.PERSISTENT_1,
                "storage_type": LustreStorageType.HDD,
                "throughput": LustreThroughput(per_tib=12),
                "storage_capacity_gib": 7200,
            },
            "take 6000 GiB or 12000 GiB",
        ),
        (
            {
                "deployment_type": LustreDeploymentType.PERSISTENT_1,
                "storage_type": LustreStorageType.HDD,
                "storage_capacity_gib": 6000,
            },
            "take 5400 GiB or 7200 GiB",
        ),
    ],
)
def test_a_size_that_is_not_sold_is_answered_with_those_beside_it(wishes: dict[str, Any], offer: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.LUSTRE_CAPACITY, ("storage_capacity_gib",))
    assert problem.value == wishes["storage_capacity_gib"]
    assert problem.remedy == offer


def test_persistent_2_at_200_is_answered_with_the_throughputs_beside_it():
    problem = only(throughput=LustreThroughput(per_tib=200))
    assert (problem.code, problem.path) == (Code.LUSTRE_THROUGHPUT, ("throughput",))
    assert problem.message == "PERSISTENT_2 is not sold with 200 MB/s/TiB"
    assert problem.allowed == "125, 250, 500 or 1000 MB/s/TiB"
    assert problem.remedy == "take 125 MB/s/TiB or 250 MB/s/TiB"


@pytest.mark.parametrize("deployment_type", [LustreDeploymentType.SCRATCH_1, LustreDeploymentType.SCRATCH_2])
def test_scratch_takes_no_throughput(deployment_type: LustreDeploymentType):
    problem = only(deployment_type=deployment_type, throughput=LustreThroughput(per_tib=200))
    assert problem.code == Code.LUSTRE_THROUGHPUT
    assert problem.remedy == "leave it out, or use PERSISTENT_2 to choose a throughput"


def test_a_bad_throughput_and_a_bad_size_are_told_together():
    problems = check_lustre(LustreSpec(storage_capacity_gib=1300, throughput=LustreThroughput(per_tib=200)))
    assert {problem.code for problem in problems} == {Code.LUSTRE_THROUGHPUT, Code.LUSTRE_CAPACITY}


def test_intelligent_tiering_is_elastic():
    problem = only(storage_type=LustreStorageType.INTELLIGENT_TIERING, storage_capacity_gib=1200)
    assert (problem.code, problem.remedy) == (Code.LUSTRE_CAPACITY, "leave the size out, or use SSD storage")


def test_intelligent_tiering_has_its_throughput_as_a_whole():
    problem = only(storage_type=LustreStorageType.INTELLIGENT_TIERING, throughput=LustreThroughput(per_tib=250))
    assert problem.code == Code.LUSTRE_THROUGHPUT
    assert problem.remedy == "set the throughput of the whole file system in MB/s instead"
    problem = only(storage_type=LustreStorageType.INTELLIGENT_TIERING, throughput=LustreThroughput(whole=6000))
    assert problem.remedy == "take 4000 MB/s or 8000 MB/s"
    problem = only(storage_type=LustreStorageType.INTELLIGENT_TIERING, throughput=LustreThroughput(whole=2_004_000))
    assert problem.remedy == "take 2000000 MB/s"


def test_other_storage_has_no_throughput_as_a_whole():
    problem = only(throughput=LustreThroughput(whole=4000))
    assert (problem.code, problem.path) == (Code.LUSTRE_THROUGHPUT, ("throughput",))


@pytest.mark.parametrize(
    ("wishes", "path", "remedy"),
    [
        ({"storage_type": LustreStorageType.HDD}, "storage_type", "write 'SSD', or use PERSISTENT_1 for HDD storage"),
        (
            {"deployment_type": LustreDeploymentType.SCRATCH_2, "storage_type": LustreStorageType.INTELLIGENT_TIERING},
            "storage_type",
            "write 'SSD', or use PERSISTENT_2 for INTELLIGENT_TIERING storage",
        ),
    ],
)
def test_types_that_do_not_go_together(wishes: dict[str, Any], path: str, remedy: str):
    problem = only(**wishes)
    assert (problem.code, problem.path, problem.remedy) == (Code.LUSTRE_TYPE, (path,), remedy)


@pytest.mark.parametrize(
    "wishes",
    [
        {"storage_capacity_gib": TOKEN},
        {"throughput": LustreThroughput(per_tib=TOKEN)},
        {"metadata_iops": TOKEN},
        {"backups": LustreBackups(retention_days=TOKEN)},
        {"encryption_key": "${Token[TOKEN.42]}"},
    ],
    ids=str,
)
def test_what_is_known_only_at_deploy_time_is_let_pass(wishes: dict[str, Any]):
    assert check_lustre(LustreSpec(**wishes)) == []


def test_a_type_that_is_known_only_at_deploy_time_is_let_pass():
    token: Any = "${Token[TOKEN.42]}"
    assert check_lustre(LustreSpec(deployment_type=token, storage_capacity_gib=1300)) == []


@pytest.mark.parametrize("deployment_type", [one for one in LustreDeploymentType if one != "PERSISTENT_2"])
def test_efa_on_a_deployment_type_that_lacks_it(deployment_type: LustreDeploymentType):
    problem = only(deployment_type=deployment_type, efa_enabled=True)
    assert (problem.code, problem.path, problem.value) == (Code.LUSTRE_EFA, ("efa_enabled",), True)
    assert problem.remedy == "use PERSISTENT_2, or leave EFA out"


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_efa_comes_in_bigger_steps(throughput: int, step: int):
    fast: dict[str, Any] = {"throughput": LustreThroughput(per_tib=throughput), "efa_enabled": True}
    assert check_lustre(LustreSpec(**fast, storage_capacity_gib=2 * step)) == []
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
        ({"storage_capacity_gib": 4800, "throughput": LustreThroughput(per_tib=1000)}, True),
        ({"storage_capacity_gib": 19200}, True),
        ({"storage_capacity_gib": 19200, "efa_enabled": False}, False),
        ({"storage_capacity_gib": 19200, "version": "2.12"}, False),
        ({"storage_capacity_gib": TOKEN}, False),
        ({"storage_capacity_gib": 19200, "throughput": LustreThroughput(per_tib=TOKEN)}, False),
        ({"deployment_type": LustreDeploymentType.SCRATCH_2, "storage_capacity_gib": 19200}, False),
        (TIERING, True),
    ],
)
def test_efa_is_on_where_it_is_sure_to_be_possible(wishes: dict[str, Any], efa: bool):
    assert LustreSpec(**wishes).effective_efa("us-west-2") is efa


@pytest.mark.parametrize("iops", [1500, 3000, 6000, 12000, 24000, 192000])
def test_metadata_iops_that_are_sold(iops: int):
    assert check_lustre(LustreSpec(metadata_iops=iops)) == []


@pytest.mark.parametrize(
    ("wishes", "remedy"),
    [
        ({"metadata_iops": 1000}, "take 1500 IOPS"),
        ({"metadata_iops": 20000}, "take 12000 IOPS or 24000 IOPS"),
        ({"metadata_iops": 204000}, "take 192000 IOPS"),
        ({**TIERING, "metadata_iops": 1500}, "take 6000 IOPS"),
        (
            {"deployment_type": LustreDeploymentType.SCRATCH_2, "metadata_iops": 1500},
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
        ({"deployment_type": LustreDeploymentType.SCRATCH_2, "version": "2.14"}, "2.10, 2.12 or 2.15"),
        ({**TIERING, "version": "2.12"}, "2.15"),
    ],
)
def test_versions_that_do_not_go_with_the_deployment_type(wishes: dict[str, Any], allowed: str):
    problem = only(**wishes)
    assert (problem.code, problem.path, problem.allowed) == (Code.LUSTRE_VERSION, ("version",), allowed)


def test_caches_belong_to_their_storage_types():
    assert only(drive_cache="READ").code == Code.LUSTRE_CACHE
    assert only(**HDD, drive_cache="WRITE").allowed == "NONE or READ"
    assert check_lustre(LustreSpec(**HDD, drive_cache="NONE")) == []
    assert only(read_cache="NO_CACHE").path == ("read_cache",)
    assert only(read_cache_gib=32).path == ("read_cache_gib",)
    assert only(**TIERING, read_cache="SOME").code == Code.LUSTRE_CACHE


@pytest.mark.parametrize(
    ("wishes", "remedy"),
    [
        ({"read_cache": "USER_PROVISIONED"}, "set its GiB"),
        ({"read_cache": "NO_CACHE", "read_cache_gib": 64}, "leave the size out"),
        ({"read_cache_gib": 31}, "take 32 to 131072 GiB"),
        ({"read_cache_gib": 63, "throughput": LustreThroughput(whole=8000)}, "take 64 to 262144 GiB"),
    ],
)
def test_a_read_cache_is_sized_by_its_throughput(wishes: dict[str, Any], remedy: str):
    problem = only(**TIERING, **wishes)
    assert (problem.code, problem.path, problem.remedy) == (Code.LUSTRE_CACHE, ("read_cache_gib",), remedy)
    assert check_lustre(LustreSpec(**TIERING, read_cache_gib=64, throughput=LustreThroughput(whole=8000))) == []


def test_scratch_takes_no_key_of_ones_own():
    problem = only(deployment_type=LustreDeploymentType.SCRATCH_2, encryption_key=KEY)
    assert (problem.code, problem.path) == (Code.FILE_SYSTEM_KEY, ("encryption_key",))
    assert check_lustre(LustreSpec(encryption_key=KEY)) == []


@pytest.mark.parametrize(
    ("wishes", "path"),
    [
        ({"backups": LustreBackups(retention_days=91)}, "retention_days"),
        ({"backups": LustreBackups(retention_days=-1)}, "retention_days"),
        (
            {"deployment_type": LustreDeploymentType.SCRATCH_2, "backups": LustreBackups(retention_days=7)},
            "retention_days",
        ),
        ({"deployment_type": LustreDeploymentType.SCRATCH_2, "backups": LustreBackups(copy_tags=True)}, "copy_tags"),
    ],
)
def test_backups_that_are_not_made(wishes: dict[str, Any], path: str):
    problem = only(**wishes)
    assert (problem.code, problem.path) == (Code.FILE_SYSTEM_BACKUP, ("backups", path))


def test_backups_are_kept_for_a_week_where_they_exist():
    assert LustreSpec().effective_backup_retention_days == 7
    assert LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2).effective_backup_retention_days == 0
    assert (
        check_lustre(
            LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2, backups=LustreBackups(retention_days=0))
        )
        == []
    )


def at(time: str) -> dict[str, Any]:
    return {"backups": LustreBackups(start_time=time)}


def weekly(time: str) -> dict[str, Any]:
    return {"maintenance_start_time": time}


@pytest.mark.parametrize(
    ("wish", "where", "good", "bad"),
    [
        (at, "backups.start_time", ["00:00", "23:59"], ["24:00", "5:00", "05:60", "0500", ""]),
        (weekly, "maintenance_start_time", ["1:00:00", "7:23:59"], ["0:00:00", "8:00:00", "Mon:03:00", "03:00"]),
    ],
)
def test_times_are_written_as_fsx_reads_them(
    wish: Callable[[str], dict[str, Any]], where: str, good: list[str], bad: list[str]
):
    for time in good:
        assert check_lustre(LustreSpec(**wish(time))) == []
    for time in bad:
        problem = only(**wish(time))
        assert (problem.code, problem.where, problem.value) == (Code.FILE_SYSTEM_TIME, where, time)


def test_an_unknown_compression_is_answered_with_the_nearest():
    problem = only(compression="LZ5")
    assert (problem.code, problem.remedy) == (Code.FILE_SYSTEM_COMPRESSION, "write 'LZ4'")


def test_no_log_group_for_events_that_are_not_logged():
    assert only(log_level="DISABLED", log_group="/aws/fsx/fleet").remedy == "leave one of the two out"
    assert only(log_group="fleet").remedy == "name it /aws/fsx/fleet"
    assert check_lustre(LustreSpec(log_group="/aws/fsx/fleet")) == []
