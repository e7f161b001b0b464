"""Rules of FSx for OpenZFS file systems and volumes."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet import Backups, OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.catalog.fsx import open_zfs_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_open_zfs, check_volume
from llm_fleet.rules.problem import Problem
from tests.rules.findings import NUMBER_TOKEN, TOKEN, check_one

LONGEST_NAME = open_zfs_limits().volume_name_length


def check(**wishes: Any) -> list[Problem]:
    return check_open_zfs(OpenZfsSpec(**wishes))


def volume(name: str = "apps", quota_gib: Any = None, capacity_gib: Any = 512) -> list[Problem]:
    spec = OpenZfsVolumeSpec(quota_gib=quota_gib)
    return check_volume(spec, name, capacity_gib=capacity_gib, taken={"home": "it is the home"})


@pytest.mark.parametrize("deployment_type", open_zfs_limits().throughputs)
def test_the_defaults_of_every_type_are_valid(deployment_type: str):
    settings = OpenZfsSpec(deployment_type=deployment_type)
    chosen = settings.effective_throughput_capacity
    assert chosen >= 160
    assert check_open_zfs(OpenZfsSpec(deployment_type=deployment_type, throughput_capacity=chosen)) == []


Check = Callable[..., list[Problem]]
MISTAKES: list[tuple[Check, dict[str, Any], Code, str, list[str]]] = [
    *(
        (
            check,
            {"storage_capacity_gib": size},
            Code.OPEN_ZFS_CAPACITY,
            "storage_capacity_gib",
            ["64 to 524288 GiB", offer],
        )
        for size, offer in ((63, "write 64 GiB"), (524289, "write 524288 GiB"), (-1, "write 64 GiB"))
    ),
    *(
        (
            check,
            {"deployment_type": kind, "throughput_capacity": throughput},
            Code.OPEN_ZFS_THROUGHPUT,
            "throughput_capacity",
            [f"remedy:  write {offer}"],
        )
        for kind, throughput, offer in (
            ("SINGLE_AZ_HA_2", 200, "160 MB/s or 320 MB/s"),
            ("SINGLE_AZ_2", 64, "160 MB/s"),
            ("SINGLE_AZ_1", 160, "128 MB/s or 256 MB/s"),
            ("SINGLE_AZ_HA_1", 10240, "4096 MB/s"),
        )
    ),
    (check, {"deployment_type": "MULTI_AZ_1"}, Code.OPEN_ZFS_TYPE, "deployment_type", ["SINGLE_AZ_HA_2"]),
    (check, {"disk_iops": 100}, Code.OPEN_ZFS_OPTION, "disk_iops", []),
    (check, {"storage_capacity_gib": 100, "disk_iops": 299}, Code.OPEN_ZFS_OPTION, "disk_iops", ["300 or more"]),
    (check, {"record_size_kib": 100}, Code.OPEN_ZFS_OPTION, "record_size_kib", []),
    (check, {"compression": "GZIP"}, Code.FILE_SYSTEM_COMPRESSION, "compression", []),
    (check, {"backups": Backups(retention_days=91)}, Code.FILE_SYSTEM_BACKUP, "backups.retention_days", []),
    (check, {"backups": Backups(start_time="25:00")}, Code.FILE_SYSTEM_TIME, "backups.start_time", []),
    (check, {"maintenance_start_time": "03:00"}, Code.FILE_SYSTEM_TIME, "maintenance_start_time", []),
    *(
        (volume, {"name": name}, Code.OPEN_ZFS_VOLUME_NAME, "name", [remedy])
        for name, remedy in {
            "a/b": "write `a-b`",
            "my apps": "write `my-apps`",
            ".zfs": "write `zfs`",
            "apps\n": "write `apps-`",
            "": "write a name such as `apps`",
            "n" * 204: f"write `{'n' * 203}`",
            "home": "it is the home",
        }.items()
    ),
    *(
        (volume, {"quota_gib": quota}, Code.OPEN_ZFS_QUOTA, "quota_gib", ["allowed: 1 to 512 GiB", remedy])
        for quota, remedy in {0: "remove it", -1: "remove it", 513: "write at most 512 GiB"}.items()
    ),
]


@pytest.mark.parametrize(("verify", "given", "code", "where", "said"), MISTAKES)
def test_one_mistake_is_reported_once(verify: Check, given: dict[str, Any], code: Code, where: str, said: list[str]):
    check_one(verify(**given), code, where, *said)


@pytest.mark.parametrize(
    ("verify", "given"),
    [
        *((check, {"storage_capacity_gib": size}) for size in (64, 100, 524288)),
        (check, {"storage_capacity_gib": 100, "disk_iops": 300}),
        *((volume, {"name": name}) for name in ("apps", "A", "_x", "data-v1.2:b", "n" * LONGEST_NAME)),
        *((volume, {"quota_gib": quota}) for quota in (1, 512)),
        # CDK tokens pass.
        *(
            (check, {name: NUMBER_TOKEN})
            for name in ("storage_capacity_gib", "throughput_capacity", "disk_iops", "record_size_kib")
        ),
        (volume, {"name": TOKEN}),
        (volume, {"quota_gib": NUMBER_TOKEN}),
        (volume, {"quota_gib": 600, "capacity_gib": NUMBER_TOKEN}),
    ],
)
def test_valid_values_have_no_problems(verify: Check, given: dict[str, Any]):
    assert verify(**given) == []
