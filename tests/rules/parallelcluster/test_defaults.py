"""What holds where the user says nothing."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.rules.parallelcluster.defaults import (
    capacity_reservation_of,
    efa_of,
    exclusive_of,
    gpu_health_check_of,
    has_home_of_its_own,
    placement_group_of,
)
from llm_fleet.rules.parallelcluster.terms import CapacityType
from llm_fleet.spec.parallelcluster import SharedStorage
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue
from tests.parallelcluster.clusters import RESERVATION, cluster
from tests.rules.parallelcluster.shapes import OTHER_SUBNET, SUBNET, Partition, Resource, changed

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
def test_efa_is_on_where_every_type_has_it(resource: ComputeResource, efa: bool) -> None:
    assert efa_of(resource) is efa


def test_a_type_that_is_only_known_later_is_nothing() -> None:
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
def test_accelerators_are_not_shared_out(given: Queue, exclusive: bool) -> None:
    assert exclusive_of(given) is exclusive


def test_one_accelerator_in_a_mixed_queue_is_enough() -> None:
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
def test_placement(of_queue: dict[str, Any], of_nodes: dict[str, Any], placed: tuple[bool, str | None] | None) -> None:
    resource = nodes("trn1.32xlarge", **of_nodes)
    found = placement_group_of(queue(resource, **of_queue), resource)
    assert (None if found is None else (found.enabled, found.name)) == placed


def test_over_several_subnets_there_is_no_placement() -> None:
    """EFA is refused there; that the default were a group would be another mistake that nobody made."""
    resource = Resource(instance_types=("trn1.32xlarge",))
    several = Partition(resources=(resource,), subnets=(SUBNET, OTHER_SUBNET))
    found = placement_group_of(several, resource)
    assert found is not None
    assert not found.enabled


def test_what_nodes_say_goes_before_what_their_queue_says() -> None:
    own = nodes("g5.2xlarge", capacity_reservation=OTHER, gpu_health_check=False)
    silent = nodes("g5.2xlarge")
    for resource, reservation, checked in ((own, OTHER, False), (silent, RESERVED, True)):
        whole = queue(resource, capacity_reservation=RESERVED, gpu_health_check=True)
        assert capacity_reservation_of(whole, resource) == reservation
        assert gpu_health_check_of(whole, resource) is checked
    assert gpu_health_check_of(queue(silent), silent) is False


def test_home() -> None:
    elsewhere = SharedStorage.open_zfs("home", mount_dir="/homes", volume_id="fsvol-0123456789abcdef0")
    home = SharedStorage.open_zfs("home", volume_id="fsvol-0123456789abcdef0")
    for place in ("/home", "home"):
        assert has_home_of_its_own(cluster(shared_storage=[changed(home, mount_dir=place)]))
    assert not has_home_of_its_own(cluster(shared_storage=[elsewhere]))
    assert not has_home_of_its_own(cluster())
