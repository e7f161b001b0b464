"""How the blocks of a network are cut: whoever is there already stays where it is."""

from ipaddress import IPv4Network

import pytest

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.network_layout import compute_subnet_cidrs

ZONES = [f"use1-az{number}" for number in range(1, address_facts().most_zones + 1)]
BLOCK = IPv4Network("10.1.0.0/16")


def cut(zones: int) -> dict[str, IPv4Network]:
    made = compute_subnet_cidrs(str(BLOCK), ZONES[:zones])
    return {zone: IPv4Network(str(cidr)) for zone, cidr in made.items()}


@pytest.mark.parametrize("zones", range(2, len(ZONES) + 1))
def test_an_az_that_is_appended_moves_none_and_overlaps_none(zones: int) -> None:
    before, after = cut(zones - 1), cut(zones)
    assert {zone: after[zone] for zone in before} == before
    new = after[ZONES[zones - 1]]
    assert new.subnet_of(BLOCK)
    assert not any(new.overlaps(old) for old in before.values())
    assert new.prefixlen <= address_facts().smallest_block_prefix


def test_the_first_has_half_of_the_block() -> None:
    assert [str(subnet) for subnet in cut(3).values()] == ["10.1.0.0/17", "10.1.128.0/18", "10.1.192.0/19"]


def test_a_block_that_is_a_token_is_not_known() -> None:
    assert compute_subnet_cidrs("${Token[TOKEN.1]}", ZONES[:2]) == {"use1-az1": None, "use1-az2": None}
