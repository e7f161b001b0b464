"""The table of regions against botocore's endpoints and moto's zones."""

import pytest
from botocore.session import get_session

from llm_fleet.catalog.network import az_id_prefix, region_of_az_id, regions


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_regions_are_those_of_the_partition(partition: str) -> None:
    known = {region.name for region in regions().values() if region.partition == partition}
    assert known == set(get_session().get_available_regions("ec2", partition_name=partition))


def test_prefixes_are_those_of_the_az_ids() -> None:
    from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend  # takes a second

    zones = RegionsAndZonesBackend.zones
    compared = 0
    for region in regions().values():
        for zone in zones.get(region.name, []):
            assert zone.zone_id.startswith(f"{region.az_id_prefix}-az"), zone.zone_id
            compared += 1
    assert compared > 80


def test_prefixes_are_unique() -> None:
    prefixes = [region.az_id_prefix for region in regions().values()]
    assert len(set(prefixes)) == len(prefixes)


def test_regions_of_hyperpod_are_those_of_its_helm_chart() -> None:
    assert sum(region.hyperpod for region in regions().values()) == 19
    assert regions()["us-west-2"].hyperpod
    assert not regions()["eu-west-3"].hyperpod


@pytest.mark.parametrize(
    ("az_id", "prefix", "region"),
    [
        ("usw2-az4", "usw2", "us-west-2"),
        ("usw2-lax1-az1", "usw2", "us-west-2"),
        ("apse1-az2", "apse1", "ap-southeast-1"),
        ("xyz9-az1", "xyz9", None),
        ("us-west-2a", None, None),
    ],
)
def test_region_of_an_az_id(az_id: str, prefix: str | None, region: str | None) -> None:
    assert az_id_prefix(az_id) == prefix
    assert region_of_az_id(az_id) == region
