"""What nodes take of a subnet: as many interfaces as `add_network_interfaces` of aws-parallelcluster makes."""

import pytest

from llm_fleet.config.load import parse_fleet
from llm_fleet.config.parallelcluster.view import shape_of
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.parallelcluster.address_claims import address_claims
from tests.config.good_parallelcluster import edited

QUEUE = "type: trn1.32xlarge, max: 4"


def claims(*edits: str, efa_with_address: bool = False) -> list[AddressClaim]:
    fleet = parse_fleet(edited(*edits))
    (cluster,) = fleet.parallelclusters.values()
    shape = shape_of(fleet, cluster)
    return address_claims(
        head_node=shape.head_node,
        queues=shape.queues,
        login_pools=shape.login_pools,
        owner="pc",
        zone="usw2-az4",
        efa_with_address=efa_with_address,
    )


@pytest.mark.parametrize(
    ("queue", "addresses", "interfaces"),
    [
        ("type: trn1.32xlarge", 1, 9),  # 8 cards: one has an interface of its own and an efa-only one
        ("type: p6-b300.48xlarge", 1, 17),  # 17 cards, the first without EFA
        ("type: trn1.32xlarge, efa: false", 8, 8),
        ("type: c5.xlarge", 1, 1),
    ],
)
def test_addresses_and_interfaces_of_a_node(queue: str, addresses: int, interfaces: int) -> None:
    _, nodes = claims(QUEUE, f"{queue}, max: 2", "type: m5.xlarge", "type: m5.4xlarge")
    assert (nodes.count, nodes.addresses_each, nodes.interfaces) == (2, addresses, 2 * interfaces)


def test_efa_interfaces_with_addresses_count() -> None:
    _, nodes = claims(efa_with_address=True)
    assert (nodes.addresses_each, nodes.interfaces_each) == (8, 8)


def test_what_has_a_subnet_of_its_own_stands_elsewhere() -> None:
    own = "subnet: subnet-0123456789abcdef0"
    assert [claim.owner for claim in claims("m5.xlarge", f"m5.xlarge, {own}")] == ["pc/trn1/trn1"]
    assert [claim.what for claim in claims(QUEUE, f"{QUEUE}, subnets: [subnet-0123456789abcdef0]")] == ["head node"]


def test_login_pools_bring_a_load_balancer() -> None:
    found = claims("queues:", "login: {people: {type: m5.xlarge, count: 2}}\n    queues:")
    assert {claim.owner: claim.count for claim in found} == {"pc": 1, "pc/people": 3, "pc/trn1/trn1": 4}
