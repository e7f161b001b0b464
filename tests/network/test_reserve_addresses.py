"""Clusters and file systems set addresses aside; what does not fit stops synth."""

import aws_cdk as cdk
import pytest

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import NetworkSpec


def p5_nodes(count: int, owner: str = "train/workers", zone: str | None = None) -> AddressClaim:
    return AddressClaim.for_instances(
        owner=owner, instance_types="ml.p5.48xlarge", count=count, availability_zone_id=zone
    )


def test_what_fits_gives_nothing_and_shows_in_the_plan(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    assert network.reserve_addresses([p5_nodes(4), AddressClaim.for_file_system(owner="fsx")]) == []
    (zone,) = network.address_plan.zones
    assert (zone.addresses, zone.headroom, zone.prefix_needed, zone.prefix_given) == (130, 32, 24, 17)
    app.synth()


def test_40_p5_nodes_in_a_24_are_told_by_path_code_and_remedy(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    (problem,) = network.reserve_addresses([p5_nodes(40)])
    assert problem.code == Code.SUBNET_TOO_SMALL
    assert problem.where == "network.compute_cidr"
    assert "a /20 or larger" in problem.remedy


def test_clusters_that_fit_alone_but_not_together_are_told(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    assert network.reserve_addresses([p5_nodes(4, "one/workers")]) == []
    (problem,) = network.reserve_addresses([p5_nodes(4, "two/workers")])
    assert "one/workers" in problem.message
    assert "two/workers" in problem.message


def test_synth_fails_when_a_caller_does_not_raise(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr="10.1.0.0/23")
    )
    network.reserve_addresses([p5_nodes(40)])
    with pytest.raises(RuntimeError, match=r"(?s)Test/Network.*LF220.*10\.1\.0\.0/24.*a /21"):
        app.synth()


def test_endpoints_and_nat_count_towards_the_quota(stack: cdk.Stack):
    """4 endpoints and a NAT gateway: 5 interfaces beside those of the nodes."""
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"], interface_quota=100)
    )
    assert [zone.interfaces for zone in network.address_plan.zones] == [5, 5]
    assert network.reserve_addresses([p5_nodes(1, zone="usw2-az1")]) == []
    (problem,) = network.reserve_addresses([p5_nodes(1, zone="usw2-az1")])
    assert problem.code == Code.INTERFACE_QUOTA
    assert "usw2-az1 needs 101" in problem.message
    assert "--region us-west-2" in problem.remedy


def test_a_shared_nat_gateway_counts_once(stack: cdk.Stack):
    network = FleetNetwork(
        stack,
        "Network",
        NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"], internet=InternetAccess.SHARED_NAT),
    )
    assert [zone.other_interfaces for zone in network.address_plan.zones] == [5, 4]


def test_a_block_known_only_at_deploy_time_holds_everything(app: cdk.App, stack: cdk.Stack):
    block = cdk.CfnParameter(stack, "Block").value_as_string
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], compute_cidr=block))
    assert network.reserve_addresses([p5_nodes(100)]) == []
    app.synth()
