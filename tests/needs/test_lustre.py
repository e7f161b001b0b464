"""Lustre throughput that a run requires, computed by hand."""

import pytest

from llm_fleet import LustreDeploymentType, LustreSpec, LustreStorageType, LustreThroughput
from llm_fleet.needs.machines import CheckpointNeed, LustreSupply, mb_per_second

GB = 1000**3


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (LustreSpec(storage_capacity_gib=4800, throughput=LustreThroughput(per_tib=250)), 1200),
        (LustreSpec(storage_capacity_gib=1200, throughput=LustreThroughput(per_tib=125)), 150),
        (LustreSpec(storage_capacity_gib=19200), 4800),
        (LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2, storage_capacity_gib=2400), 480),
        (LustreSpec(storage_type=LustreStorageType.INTELLIGENT_TIERING, throughput=LustreThroughput(whole=8000)), 8000),
    ],
)
def test_throughput_of_the_whole_file_system_by_capacity(settings: LustreSpec, expected: int):
    assert mb_per_second(settings) == expected


def need(size_gb: int, settings: LustreSpec) -> CheckpointNeed:
    supply = LustreSupply(spec=settings, mb_per_second=mb_per_second(settings) or 0)
    return CheckpointNeed(run="r", nodes=4, checkpoint_bytes=size_gb * GB, supply=supply)


def test_time_to_write_a_checkpoint():
    """96 GB take 80 s at 1,200 MB/s, and require 800 MB/s for two minutes."""
    found = need(96, LustreSpec(storage_capacity_gib=4800, throughput=LustreThroughput(per_tib=250)))
    assert (found.seconds, found.wanted_mb_per_second, found.short) == (80, 800, False)


@pytest.mark.parametrize(
    ("size_gb", "settings", "remedy"),
    [
        # 240 GB require 2,000 MB/s; 4.8 TiB provide this from 500 MB/s/TiB.
        (240, LustreSpec(storage_capacity_gib=4800), "write `throughput: 500 MB/s/TiB`"),
        # 1,200 GB require 10,000 MB/s; at 1,000 MB/s/TiB that takes 10,000 GiB, and 12,000 is the next available size.
        (1200, LustreSpec(storage_capacity_gib=4800), "write `throughput: 1000 MB/s/TiB` and `size: 12000 GiB`"),
        # 60 GB require 500 MB/s; at 200 MB/s/TiB that takes 2,500 GiB.
        (
            60,
            LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2, storage_capacity_gib=1200),
            "write `size: 4800 GiB`",
        ),
        (960, LustreSpec(storage_type=LustreStorageType.INTELLIGENT_TIERING), "write `throughput: 8000 MB/s`"),
    ],
)
def test_the_remedy_is_sufficient(size_gb: int, settings: LustreSpec, remedy: str):
    found = need(size_gb, settings)
    assert found.short
    assert found.remedy == remedy
