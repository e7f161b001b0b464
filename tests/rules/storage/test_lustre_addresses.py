"""How many addresses of its subnet a Lustre file system takes: one for each of its servers."""

from typing import Any

import pytest

from llm_fleet.rules.lustre_addresses import lustre_addresses, lustre_claim
from llm_fleet.rules.lustre_settings import LustreSettings


@pytest.mark.parametrize(
    ("wishes", "addresses"),
    [
        ({}, 1 + 1),
        ({"storage_capacity_gib": 4800}, 2 + 1),
        ({"storage_capacity_gib": 19200}, 1 + 1),  # with EFA, one server holds as much
        ({"storage_capacity_gib": 19200, "efa_enabled": False}, 8 + 1),
        ({"storage_capacity_gib": 96000, "efa_enabled": False}, 40 + 4),  # a metadata server for each 24000 GiB
        ({"metadata_iops": 1500}, 1 + 1),
        ({"metadata_iops": 192000}, 1 + 16),
        ({"deployment_type": "SCRATCH_1", "storage_capacity_gib": 7200}, 2 + 1),
        ({"deployment_type": "SCRATCH_2", "storage_capacity_gib": 9600}, 4 + 1),
        ({"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "storage_capacity_gib": 5400}, 3 + 1),
        ({"storage_type": "INTELLIGENT_TIERING", "throughput_capacity": 12000}, 3 + 1),
        ({"storage_capacity_gib": -1.888154589708e289}, None),
        ({"metadata_iops": -1.888154589708e289}, None),
        ({"deployment_type": "no such"}, None),
    ],
)
def test_addresses(wishes: dict[str, Any], addresses: int | None):
    assert lustre_addresses(LustreSettings(**wishes)) == addresses


def test_a_claim_names_its_owner_and_its_zone():
    claim = lustre_claim(
        LustreSettings(storage_capacity_gib=4800), owner="storage.fsx", availability_zone_id="usw2-az4"
    )
    assert (claim.owner, claim.what, claim.addresses) == ("storage.fsx", "FSx for Lustre", 3)
    assert claim.availability_zone_id == "usw2-az4"


def test_what_cannot_be_told_claims_the_least():
    assert lustre_claim(LustreSettings(storage_type="no such"), owner="storage.fsx").addresses == 2
