"""What hosts of a service and their tasks take of the compute subnets."""

from llm_fleet.rules.inference.service import address_claims
from tests.rules.inference.services import service

ZONES = ("usw2-az1", "usw2-az2")


def test_as_many_hosts_as_there_may_be_are_spread_over_the_zones():
    claims = address_claims(service(desired=2, maximum=5), owner="chat", zones=ZONES)
    assert [(claim.availability_zone_id, claim.count) for claim in claims] == [("usw2-az1", 3), ("usw2-az2", 3)]
    assert {claim.owner for claim in claims} == {"chat"}
    assert all(claim.replaceable for claim in claims), "a host is replaced while others run"


def test_a_host_and_its_task_have_an_address_each():
    (claim,) = address_claims(service(desired=3), owner="chat", zones=ZONES[:1])
    assert (claim.count, claim.addresses_each) == (3, 2)
