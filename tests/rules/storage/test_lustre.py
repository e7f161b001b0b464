"""Rules of FSx for Lustre, and their remedies."""

from typing import Any

import pytest

from llm_fleet import LustreBackups, LustreDeploymentType, LustreSpec, LustreStorageType, LustreThroughput
from llm_fleet.catalog.fsx import lustre_variants
from llm_fleet.rules.codes import Code
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.problem import Problem
from tests.rules.findings import NUMBER_TOKEN, check_one
from tests.rules.findings import TOKEN as TEXT_TOKEN

TOKEN: Any = NUMBER_TOKEN
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
TIERING: dict[str, Any] = {"storage_type": LustreStorageType.INTELLIGENT_TIERING}
HDD: dict[str, Any] = {
    "deployment_type": LustreDeploymentType.PERSISTENT_1,
    "storage_type": LustreStorageType.HDD,
}


S1, S2 = LustreDeploymentType.SCRATCH_1, LustreDeploymentType.SCRATCH_2
SCRATCH: dict[str, Any] = {"deployment_type": S2}


def per_tib(throughput: int) -> dict[str, Any]:
    return {"throughput": LustreThroughput(per_tib=throughput)}


def whole(throughput: int) -> dict[str, Any]:
    return {"throughput": LustreThroughput(whole=throughput)}


def kept(**backups: Any) -> dict[str, Any]:
    return {"backups": LustreBackups(**backups)}


def check(**settings: Any) -> list[Problem]:
    return check_lustre(LustreSpec(**settings))


# settings, code, path, and expected texts in the remedy, the message or the allowed values
MISTAKES: list[tuple[dict[str, Any], Code, str, list[str]]] = [
    *(
        (
            {**settings, "storage_capacity_gib": size},
            Code.LUSTRE_CAPACITY,
            "storage_capacity_gib",
            [f"remedy:  write {offer}"],
        )
        for settings, size, offer in (
            ({}, 1300, "1200 GiB or 2400 GiB"),
            ({}, 3600, "2400 GiB or 4800 GiB"),
            ({}, 1, "1200 GiB"),
            ({}, -2400, "1200 GiB"),
            ({}, 0, "1200 GiB"),
            ({"deployment_type": S1}, 4800, "3600 GiB or 7200 GiB"),
            (SCRATCH, 1300, "1200 GiB or 2400 GiB"),
            ({**HDD, **per_tib(12)}, 7200, "6000 GiB or 12000 GiB"),
            (HDD, 6000, "5400 GiB or 7200 GiB"),
        )
    ),
    (
        {**TIERING, "storage_capacity_gib": 1200},
        Code.LUSTRE_CAPACITY,
        "storage_capacity_gib",
        ["remove the size, or use SSD storage"],
    ),
    *(
        (settings, Code.LUSTRE_THROUGHPUT, "throughput", said)
        for settings, *said in (
            (
                per_tib(200),
                "PERSISTENT_2 does not support 200 MB/s/TiB",
                "allowed: 125, 250, 500 or 1000 MB/s/TiB",
                "write 125 MB/s/TiB or 250 MB/s/TiB",
            ),
            ({"deployment_type": S1, **per_tib(200)}, "remove it, or use PERSISTENT_2 to choose a throughput"),
            ({**SCRATCH, **per_tib(200)}, "remove it, or use PERSISTENT_2 to choose a throughput"),
            ({**TIERING, **per_tib(250)}, "set the throughput of the whole file system in MB/s"),
            ({**TIERING, **whole(6000)}, "write 4000 MB/s or 8000 MB/s"),
            ({**TIERING, **whole(2_004_000)}, "write 2000000 MB/s"),
            (whole(4000),),
        )
    ),
    (
        {"storage_type": LustreStorageType.HDD},
        Code.LUSTRE_TYPE,
        "storage_type",
        ["write `SSD`, or use PERSISTENT_1 for HDD storage"],
    ),
    (
        {**SCRATCH, **TIERING},
        Code.LUSTRE_TYPE,
        "storage_type",
        ["write `SSD`, or use PERSISTENT_2 for INTELLIGENT_TIERING"],
    ),
    *(
        (
            {"deployment_type": kind, "efa_enabled": True},
            Code.LUSTRE_EFA,
            "efa_enabled",
            ["use PERSISTENT_2, or remove EFA"],
        )
        for kind in LustreDeploymentType
        if kind != "PERSISTENT_2"
    ),
    (
        {"efa_enabled": True, "storage_capacity_gib": 19200, "version": "2.12"},
        Code.LUSTRE_EFA,
        "efa_enabled",
        ["use Lustre 2.15, or remove EFA"],
    ),
    *(
        ({**settings, "metadata_iops": iops}, Code.LUSTRE_METADATA, "metadata_iops", [remedy])
        for settings, iops, remedy in (
            ({}, 1000, "write 1500 IOPS"),
            ({}, 20000, "write 12000 IOPS or 24000 IOPS"),
            ({}, 204000, "write 192000 IOPS"),
            (TIERING, 1500, "write 6000 IOPS"),
            (SCRATCH, 1500, "remove it, or use PERSISTENT_2 with Lustre 2.15"),
            ({"version": "2.12"}, 1500, "remove it, or use PERSISTENT_2 with Lustre 2.15"),
        )
    ),
    *(
        ({**settings, "version": version}, Code.LUSTRE_VERSION, "version", [f"allowed: {allowed}\n"])
        for settings, version, allowed in (
            ({}, "2.10", "2.12 or 2.15"),
            ({}, "2.16", "2.12 or 2.15"),
            (SCRATCH, "2.14", "2.10, 2.12 or 2.15"),
            (TIERING, "2.12", "2.15"),
        )
    ),
    ({"drive_cache": "READ"}, Code.LUSTRE_CACHE, "drive_cache", []),
    ({**HDD, "drive_cache": "WRITE"}, Code.LUSTRE_CACHE, "drive_cache", ["allowed: NONE or READ"]),
    ({"read_cache": "NO_CACHE"}, Code.LUSTRE_CACHE, "read_cache", []),
    ({"read_cache_gib": 32}, Code.LUSTRE_CACHE, "read_cache_gib", []),
    ({**TIERING, "read_cache": "SOME"}, Code.LUSTRE_CACHE, "read_cache", []),
    *(
        ({**TIERING, **settings}, Code.LUSTRE_CACHE, "read_cache_gib", [remedy])
        for settings, remedy in (
            ({"read_cache": "USER_PROVISIONED"}, "set its size in GiB"),
            ({"read_cache": "NO_CACHE", "read_cache_gib": 64}, "remove the size"),
            ({"read_cache_gib": 31}, "write 32 to 131072 GiB"),
            ({"read_cache_gib": 63, **whole(8000)}, "write 64 to 262144 GiB"),
        )
    ),
    ({**SCRATCH, "encryption_key": KEY}, Code.FILE_SYSTEM_KEY, "encryption_key", []),
    (kept(retention_days=91), Code.FILE_SYSTEM_BACKUP, "backups.retention_days", []),
    (kept(retention_days=-1), Code.FILE_SYSTEM_BACKUP, "backups.retention_days", []),
    ({**SCRATCH, **kept(retention_days=7)}, Code.FILE_SYSTEM_BACKUP, "backups.retention_days", []),
    ({**SCRATCH, **kept(copy_tags=True)}, Code.FILE_SYSTEM_BACKUP, "backups.copy_tags", []),
    *(
        (kept(start_time=time), Code.FILE_SYSTEM_TIME, "backups.start_time", [f"given:   {time!r}"])
        for time in ("24:00", "5:00", "05:60", "0500", "")
    ),
    *(
        ({"maintenance_start_time": time}, Code.FILE_SYSTEM_TIME, "maintenance_start_time", [f"given:   {time!r}"])
        for time in ("0:00:00", "8:00:00", "Mon:03:00", "03:00")
    ),
    ({"compression": "LZ5"}, Code.FILE_SYSTEM_COMPRESSION, "compression", ["write `LZ4`"]),
    (
        {"log_level": "DISABLED", "log_group": "/aws/fsx/fleet"},
        Code.FILE_SYSTEM_LOG,
        "log_group",
        ["remove one of the two"],
    ),
    ({"log_group": "fleet"}, Code.FILE_SYSTEM_LOG, "log_group", ["use the name /aws/fsx/fleet"]),
]


@pytest.mark.parametrize(("settings", "code", "where", "said"), MISTAKES)
def test_one_mistake_is_reported_once(settings: dict[str, Any], code: Code, where: str, said: list[str]):
    check_one(check(**settings), code, where, *said)


@pytest.mark.parametrize(
    "settings",
    [
        *({"metadata_iops": iops} for iops in (1500, 3000, 6000, 12000, 24000, 192000)),
        {**HDD, "drive_cache": "NONE"},
        {**TIERING, "read_cache_gib": 64, **whole(8000)},
        {"encryption_key": KEY},
        {**SCRATCH, **kept(retention_days=0)},
        *(kept(start_time=time) for time in ("00:00", "23:59")),
        *({"maintenance_start_time": time} for time in ("1:00:00", "7:23:59")),
        {"log_group": "/aws/fsx/fleet"},
        # CDK tokens pass.
        {"storage_capacity_gib": TOKEN},
        per_tib(TOKEN),
        {"metadata_iops": TOKEN},
        kept(retention_days=TOKEN),
        {"encryption_key": TEXT_TOKEN},
        {"deployment_type": TEXT_TOKEN, "storage_capacity_gib": 1300},
    ],
    ids=str,
)
def test_valid_file_systems_have_no_problems(settings: dict[str, Any]):
    assert check(**settings) == []


@pytest.mark.parametrize("variant", lustre_variants(), ids=str)
def test_the_defaults_of_every_variant_are_valid(variant: Any):
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


def test_an_invalid_throughput_and_an_invalid_size_are_reported_together():
    problems = check(storage_capacity_gib=1300, **per_tib(200))
    assert {problem.code for problem in problems} == {Code.LUSTRE_THROUGHPUT, Code.LUSTRE_CAPACITY}


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_capacity_with_efa_has_larger_steps(throughput: int, step: int):
    fast: dict[str, Any] = {**per_tib(throughput), "efa_enabled": True}
    assert check(**fast, storage_capacity_gib=2 * step) == []
    (problem,) = check(**fast, storage_capacity_gib=step + 2400)
    assert problem.code == Code.LUSTRE_EFA
    assert problem.allowed == f"multiples of {step} GiB"
    assert problem.remedy.startswith(f"write {step} GiB or {2 * step} GiB")


@pytest.mark.parametrize(
    ("settings", "efa"),
    [
        ({}, False),  # 1200 GiB
        ({"storage_capacity_gib": 4800}, False),
        ({"storage_capacity_gib": 4800, **per_tib(1000)}, True),
        ({"storage_capacity_gib": 19200}, True),
        ({"storage_capacity_gib": 19200, "efa_enabled": False}, False),
        ({"storage_capacity_gib": 19200, "version": "2.12"}, False),
        ({"storage_capacity_gib": TOKEN}, False),
        ({"storage_capacity_gib": 19200, **per_tib(TOKEN)}, False),
        ({**SCRATCH, "storage_capacity_gib": 19200}, False),
        (TIERING, True),
    ],
)
def test_efa_is_enabled_by_default_only_where_it_is_supported(settings: dict[str, Any], efa: bool):
    assert LustreSpec(**settings).effective_efa("us-west-2") is efa


def test_by_default_backups_are_retained_for_a_week_if_supported():
    assert LustreSpec().effective_backup_retention_days == 7
    assert LustreSpec(**SCRATCH).effective_backup_retention_days == 0
