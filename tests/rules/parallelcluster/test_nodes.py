"""Defaults of nodes, their architecture, and the number of their addresses."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.fleet_file.check_clusters import placed_parallelcluster
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.instance_types import check_architecture
from llm_fleet.rules.parallelcluster.node_network import address_claims
from llm_fleet.rules.parallelcluster.nodes import (
    capacity_reservation_of,
    efa_of,
    exclusive_of,
    gpu_health_check_of,
    has_home_of_its_own,
    placement_group_of,
)
from llm_fleet.rules.terms import CapacityType
from llm_fleet.spec.parallelcluster import SharedStorage
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue
from tests.fleet_file.good_parallelcluster import edited
from tests.parallelcluster.clusters import RESERVATION, cluster
from tests.rules.parallelcluster.shapes import OTHER_SUBNET, SUBNET, Partition, Resource, changed, with_resource

NEWER = Ec2InstanceType.of(
    "trn9.48xlarge", architecture="x86_64", vcpus=192, memory_gib=2048, accelerator="neuron", accelerators=16,
    efa_interfaces=16, network_cards=16, instance_store_gb=7600,
)  # fmt: skip
RESERVED = CapacityReservation.id(RESERVATION)
OTHER = CapacityReservation.id("cr-0123456789abcdef1")


def nodes(*instance_types: str, **fields: Any) -> ComputeResource:
    return ComputeResource(name="nodes", instance_types=instance_types, **fields)


def queue(*resources: ComputeResource, **fields: Any) -> Queue:
    return Queue(name="work", resources=resources, **fields)


@pytest.mark.parametrize(
    ("resource", "efa"),
    [
        (nodes("trn1.32xlarge"), True),
        (nodes("trn1.32xlarge", efa=False), False),
        (nodes("trn1.2xlarge"), False),
        (nodes("trn1.2xlarge", efa=True), True),
        (nodes("c5n.18xlarge", "c5n.9xlarge"), True),
        (nodes("c5n.18xlarge", "c5.18xlarge"), False),
        (nodes(NEWER), True),
        (nodes("trn9.48xlarge"), False),
        (nodes(), False),
    ],
)
def test_efa_is_enabled_if_every_instance_type_has_it(resource: ComputeResource, efa: bool) -> None:
    assert efa_of(resource) is efa


def test_a_type_that_is_a_token_has_no_defaults() -> None:
    token = cdk.CfnParameter(cdk.Stack(), "Type").value_as_string
    assert not efa_of(nodes(token))
    assert not exclusive_of(queue(nodes(token)))


@pytest.mark.parametrize(
    ("given", "exclusive"),
    [
        (queue(nodes("trn1.32xlarge")), True),
        (queue(nodes("g5.2xlarge")), True),
        (queue(nodes("inf2.xlarge")), True),
        (queue(nodes(NEWER)), True),
        (queue(nodes("c5.4xlarge")), False),
        (queue(nodes("c5.4xlarge"), exclusive=True), True),
        (queue(nodes("trn1.32xlarge"), exclusive=False), False),
    ],
)
def test_nodes_with_accelerators_are_exclusive(given: Queue, exclusive: bool) -> None:
    assert exclusive_of(given) is exclusive


def test_a_queue_with_one_accelerator_type_is_exclusive() -> None:
    mixed = [
        ComputeResource(name="cpus", instance_types=["c5.4xlarge"]),
        ComputeResource(name="chips", instance_types=["trn1.2xlarge"]),
    ]
    assert exclusive_of(queue(*mixed))


@pytest.mark.parametrize(
    ("of_queue", "of_nodes", "placed"),
    [
        ({}, {}, (True, None)),
        ({}, {"efa": False}, None),
        ({"placement_group": PlacementGroup.none()}, {}, (False, None)),
        ({"placement_group": PlacementGroup.none()}, {"placement_group": PlacementGroup.managed()}, (True, None)),
        ({}, {"placement_group": PlacementGroup.named("close")}, (True, "close")),
        ({"capacity_reservation": RESERVED}, {}, (False, None)),
        ({}, {"capacity_reservation": RESERVED}, (False, None)),
        ({"capacity_reservation": RESERVED, "placement_group": PlacementGroup.managed()}, {}, (True, None)),
        (
            {"capacity_type": CapacityType.CAPACITY_BLOCK, "capacity_reservation": RESERVED},
            {"min_count": 2, "max_count": 2},
            None,
        ),
    ],
)
def test_placement_groups_of_queues_and_nodes(
    of_queue: dict[str, Any], of_nodes: dict[str, Any], placed: tuple[bool, str | None] | None
) -> None:
    resource = nodes("trn1.32xlarge", **of_nodes)
    found = placement_group_of(queue(resource, **of_queue), resource)
    assert (None if found is None else (found.enabled, found.name)) == placed


def test_with_several_subnets_there_is_no_placement_group() -> None:
    """EFA is rejected there; with a placement group by default, a second mistake would be reported."""
    resource = Resource(instance_types=("trn1.32xlarge",))
    several = Partition(resources=(resource,), subnets=(SUBNET, OTHER_SUBNET))
    found = placement_group_of(several, resource)
    assert found is not None
    assert not found.enabled


def test_settings_of_nodes_have_priority_over_those_of_their_queue() -> None:
    own = nodes("g5.2xlarge", capacity_reservation=OTHER, gpu_health_check=False)
    silent = nodes("g5.2xlarge")
    for resource, reservation, checked in ((own, OTHER, False), (silent, RESERVED, True)):
        whole = queue(resource, capacity_reservation=RESERVED, gpu_health_check=True)
        assert capacity_reservation_of(whole, resource) == reservation
        assert gpu_health_check_of(whole, resource) is checked
    assert gpu_health_check_of(queue(silent), silent) is False


def test_a_shared_home_is_found() -> None:
    elsewhere = SharedStorage.open_zfs("home", mount_dir="/homes", volume_id="fsvol-0123456789abcdef0")
    home = SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0")
    for place in ("/home", "home"):
        assert has_home_of_its_own(cluster(shared_storage=[changed(home, mount_dir=place)]))
    assert not has_home_of_its_own(cluster(shared_storage=[elsewhere]))
    assert not has_home_of_its_own(cluster())


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("m7g.2xlarge", "write a head node of arm64, e.g. `m7g.2xlarge`, or an instance type of x86_64 here"),
        ("mac2.metal", "write an instance type of x86_64 here"),
    ],
)
def test_a_queue_of_another_architecture_is_reported(name: str, remedy: str):
    (problem,) = check_architecture(with_resource(instance_types=(name,)))
    assert (problem.code, problem.remedy) == (Code.PC_ARCHITECTURE, remedy)


QUEUE = "type: trn1.32xlarge, max: 4"


def claims(*edits: str, efa_with_address: bool = False) -> list[AddressClaim]:
    fleet = parse_fleet(edited(*edits))
    (cluster,) = fleet.parallelclusters.values()
    shape = placed_parallelcluster(fleet, cluster)
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


def test_efa_interfaces_with_addresses_are_counted() -> None:
    _, nodes = claims(efa_with_address=True)
    assert (nodes.addresses_each, nodes.interfaces_each) == (8, 8)


def test_nodes_in_other_subnets_are_not_counted() -> None:
    own = "subnet: subnet-0123456789abcdef0"
    assert [claim.owner for claim in claims("m5.xlarge", f"m5.xlarge, {own}")] == ["pc/trn1/trn1"]
    assert [claim.what for claim in claims(QUEUE, f"{QUEUE}, subnets: [subnet-0123456789abcdef0]")] == ["head node"]


def test_login_pools_have_a_load_balancer() -> None:
    found = claims("queues:", "login: {people: {type: m5.xlarge, count: 2}}\n    queues:")
    assert {claim.owner: claim.count for claim in found} == {"pc": 1, "pc/people": 3, "pc/trn1/trn1": 4}
