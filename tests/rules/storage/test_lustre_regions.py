"""Where a Lustre deployment type may be missing."""

from typing import Any

import pytest

from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.catalog.network import regions
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.lustre_regions import doubt_about_region
from llm_fleet.rules.lustre_settings import LustreSettings


@pytest.mark.parametrize(
    ("wishes", "doubt"),
    [
        ({"region": "sa-east-1"}, "PERSISTENT_2 in sa-east-1"),
        ({"region": "ca-west-1", "efa_enabled": True, "storage_capacity_gib": 19200}, "EFA in ca-west-1"),
        ({"region": "ca-west-1", "per_unit_storage_throughput": 500}, "250 MB/s/TiB in ca-west-1"),
    ],
)
def test_doubt(wishes: dict[str, Any], doubt: str):
    settings = LustreSettings(**wishes)
    assert doubt in (doubt_about_region(settings) or "")
    assert check_lustre(settings) == []


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"region": "us-west-2"},
        {"region": "xx-new-1"},
        {"region": "ca-west-1"},
        {"region": "sa-east-1", "deployment_type": "PERSISTENT_1"},
    ],
)
def test_no_doubt(wishes: dict[str, Any]):
    assert doubt_about_region(LustreSettings(**wishes)) is None


def test_efa_is_not_the_default_where_it_may_be_missing():
    assert not LustreSettings(storage_capacity_gib=19200, region="ca-west-1").effective_efa
    assert LustreSettings(storage_capacity_gib=19200, region="us-west-2").effective_efa


def test_the_regions_exist():
    limits = lustre_limits()
    named = (*limits.regions_without_persistent_2, *limits.regions_without_efa)
    assert set(named) <= set(regions())
    assert len(set(named)) == len(named)
