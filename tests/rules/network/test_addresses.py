"""The address plan, and its problems."""

import re

import pytest
from aws_cdk import aws_ec2 as ec2
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.catalog.network import address_facts, endpoint_names, node_endpoints
from llm_fleet.rules.addresses import AddressClaim, AddressPlan, check_addresses, plan_addresses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import interface_endpoints
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from tests.rules.findings import NUMBER_TOKEN, TOKEN, check_one


def nodes(instance_type: str, count: int, zone: str | None = None) -> AddressClaim:
    return AddressClaim.for_instances(
        owner="train/workers", instance_types=instance_type, count=count, availability_zone_id=zone
    )


def plan(*claims: AddressClaim, cidr: str | None = "10.1.0.0/16", interface_quota: int | None = None) -> AddressPlan:
    return plan_addresses(claims, subnet_cidrs={"usw2-az4": cidr}, interface_quota=interface_quota)


@pytest.mark.parametrize(
    ("instance_type", "addresses"),
    [
        ("ml.m5.xlarge", 1),
        ("ml.p4d.24xlarge", 4),
        ("ml.p5.48xlarge", 32),
        ("ml.p5en.48xlarge", 16),
        ("ml.trn1.32xlarge", 8),
        ("ml.trn1n.32xlarge", 16),
        ("ml.trn2.48xlarge", 16),
        ("ml.p6-b200.48xlarge", 8),
    ],
)
def test_a_node_requires_an_address_for_each_network_card(instance_type: str, addresses: int):
    assert nodes(instance_type, 3).addresses == 3 * addresses


def test_the_cluster_of_the_launch_post_requires_a_26():
    """4 trn1 nodes (32), a controller (1), Lustre (2), one node's headroom (8) and 5 reserved: 48 addresses."""
    zone = plan(
        nodes("ml.trn1.32xlarge", 4),
        nodes("ml.m5.xlarge", 1),
        AddressClaim.for_file_system(owner="fsx"),
        cidr="10.1.0.0/26",
    ).zones[0]
    assert (zone.addresses, zone.headroom, zone.addresses_needed) == (35, 8, 48)
    assert (zone.prefix_needed, zone.prefix_given, zone.addresses_given) == (26, 26, 64)
    assert zone.fits


def test_40_p5_nodes_do_not_fit_a_24():
    check_one(
        check_addresses(plan(nodes("ml.p5.48xlarge", 40), cidr="10.1.0.0/24")),
        Code.SUBNET_TOO_SMALL,
        "compute_cidr",
        "needs 1317 addresses and has 256",
        "1280 for 40 x ml.p5.48xlarge (train/workers)",
        "32 reserved to replace",
        "5 reserved by AWS",
        "given:   '10.1.0.0/24'",
        "needs a /21",
        "set compute_cidr to a /20 or larger: usw2-az4 gets half of it",
    )


def test_the_suggested_cidr_is_the_smallest_that_fits():
    claim = nodes("ml.p5.48xlarge", 40)
    assert check_addresses(plan(claim, cidr="10.1.0.0/21")) == []
    assert check_addresses(plan(claim, cidr="10.1.0.0/22")) != []


def test_addresses_for_a_replacement_are_counted_exactly():
    """A /27 has 32 addresses, 5 reserved: 2 trn1 nodes and one's replacement take 24; 3 more are left."""
    two = nodes("ml.trn1.32xlarge", 2)
    assert check_addresses(plan(two, nodes("ml.m5.xlarge", 3), cidr="10.1.0.0/27")) == []
    found = check_addresses(plan(two, nodes("ml.m5.xlarge", 4), cidr="10.1.0.0/27"))
    check_one(found, Code.SUBNET_TOO_SMALL, "compute_cidr")


def test_the_remedy_is_for_the_share_of_the_az_in_the_block():
    claims = [nodes("ml.m5.xlarge", 1, "usw2-az4"), nodes("ml.p5.48xlarge", 40, "usw2-az1")]
    subnets = {"usw2-az4": "10.1.0.0/24", "usw2-az1": "10.1.1.0/24", "usw2-az2": "10.1.2.0/24"}
    found = check_addresses(plan_addresses(claims, subnet_cidrs=subnets))
    said = ("subnet of usw2-az1", "set compute_cidr to a /19 or larger: usw2-az1 gets one part in 4 of it")
    check_one(found, Code.SUBNET_TOO_SMALL, "compute_cidr", *said)


def test_nodes_that_fit_no_subnet_must_be_spread_over_azs():
    found = check_addresses(plan(nodes("ml.p5.48xlarge", 2100), interface_quota=100_000))
    check_one(found, Code.SUBNET_TOO_SMALL, "compute_cidr", "over several AZs")


def test_nodes_that_do_not_fit_one_block_are_reported():
    claims = [nodes("ml.p5.48xlarge", 1500, "usw2-az4")]
    subnets = {"usw2-az4": "10.1.0.0/17", "usw2-az1": "10.1.128.0/17"}
    found = check_addresses(plan_addresses(claims, subnet_cidrs=subnets, interface_quota=100_000))
    check_one(found, Code.SUBNET_TOO_SMALL, "compute_cidr", "use fewer")


def test_the_quota_of_interfaces_counts_for_each_az():
    """155 p5 nodes and one's headroom are 4992 interfaces; with 8 endpoints 5000, with 9 one too many."""
    claims = [nodes("ml.p5.48xlarge", 155)]
    subnets = {"usw2-az4": "10.1.0.0/16"}
    assert check_addresses(plan_addresses(claims, subnet_cidrs=subnets, other_interfaces={"usw2-az4": 8})) == []
    one_too_many = plan_addresses(claims, subnet_cidrs=subnets, other_interfaces={"usw2-az4": 9})
    check_one(
        check_addresses(one_too_many, region="us-west-2"),
        Code.INTERFACE_QUOTA,
        "interface_quota",
        "5001 network interfaces",
        "(L-DF5E4CA3)",
        "--quota-code L-DF5E4CA3 --desired-value 5001 --region us-west-2",
    )


def test_a_granted_quota_replaces_the_default():
    wide = plan(nodes("ml.p5.48xlarge", 200), interface_quota=10_000)
    assert check_addresses(wide) == []
    assert wide.quota_share(wide.zones[0]) == 6432 / 10_000


def test_a_subnet_of_unknown_size_is_not_checked_and_the_quota_is():
    assert check_addresses(plan(nodes("ml.p5.48xlarge", 100), cidr=None)) == []
    check_one(check_addresses(plan(nodes("ml.p5.48xlarge", 200), cidr=None)), Code.INTERFACE_QUOTA, "interface_quota")


def test_a_claim_without_an_az_is_in_the_first_and_one_in_another_az_is_reported():
    two = {"usw2-az4": "10.1.0.0/17", "usw2-az1": "10.1.128.0/17"}
    made = plan_addresses([nodes("ml.m5.xlarge", 1), nodes("ml.m5.xlarge", 1, "usw2-az9")], subnet_cidrs=two)
    assert [zone.addresses for zone in made.zones] == [1, 0]
    said = ("given:   'usw2-az9'", "move it to one of usw2-az4, usw2-az1")
    check_one(check_addresses(made), Code.ZONE_WITHOUT_SUBNET, "availability_zone_ids", *said)


def test_a_type_with_an_unknown_number_of_network_cards_counts_as_one_with_a_note():
    unknown = plan(nodes("ml.p6e-gb200.36xlarge", 4))
    assert unknown.zones[0].addresses == 4
    assert unknown.assumptions == ("the number of network cards of ml.p6e-gb200.36xlarge is unknown: assumed to be 1",)
    assert plan(nodes("ml.p5.48xlarge", 4)).assumptions == ()


def test_a_type_newer_than_the_catalog_has_the_given_number_of_network_cards():
    assert nodes(InstanceType.of("ml.trn9.48xlarge", network_cards=24), 2).addresses == 48


def test_for_a_flexible_group_the_type_with_the_most_network_cards_counts():
    claim = AddressClaim.for_instances(
        owner="train/workers", instance_types=["ml.p4d.24xlarge", "ml.p5.48xlarge", "ml.p5en.48xlarge"], count=2
    )
    assert (claim.what, claim.addresses) == ("ml.p5.48xlarge", 64)


@pytest.mark.parametrize(("instance_type", "count"), [(TOKEN, 4), ("ml.p5.48xlarge", NUMBER_TOKEN)])
def test_a_type_or_count_that_is_a_token_claims_no_addresses(instance_type: str, count: int):
    claim = AddressClaim.for_instances(owner="train/workers", instance_types=instance_type, count=count)
    assert claim.addresses == 0
    assert check_addresses(plan(claim, cidr="10.1.0.0/28")) == []


def test_an_az_that_is_a_token_is_matched_with_itself_or_ignored():
    claims = [nodes("ml.m5.xlarge", 2, TOKEN), nodes("ml.m5.xlarge", 3, TOKEN.replace("1", "2"))]
    made = plan_addresses(claims, subnet_cidrs={TOKEN: "10.1.0.0/24"})
    assert (made.zones[0].addresses, made.unplaced) == (2, ())


_SERVICE = re.compile(r"\$\{Token\[[^]]+\]\}\.\$\{Token\[[^]]+\]\}\.([a-z0-9.-]+)\$\{Token")


def names_of_the_cdk() -> set[str]:
    """Every interface endpoint that the CDK names `com.amazonaws.<region>.<name>`."""
    service = ec2.InterfaceVpcEndpointAwsService
    constants = [name for name in dir(service) if name.isupper() or name.replace("_", "").isupper()]
    found = {match[1] for name in constants if (match := _SERVICE.match(getattr(service, name).name))}
    return {name for name in found if not name.endswith("-fips")}


def test_endpoint_names_are_those_of_the_cdk():
    known = names_of_the_cdk()
    assert len(known) > 300
    # Names of gateway endpoints are omitted: FleetNetwork creates that of S3 itself.
    assert endpoint_names() == known - {"s3", "dynamodb"}


def test_endpoints_of_nodes_exist():
    assert {endpoint.name for endpoint in node_endpoints()} <= endpoint_names()


def test_a_closed_network_has_endpoints_for_nodes_and_for_features():
    closed = interface_endpoints(InternetAccess.NONE)
    assert {"ssm", "ssmmessages", "ec2messages", "logs", "monitoring", "sts", "ec2"} <= set(closed)
    assert {"ecr.api", "ecr.dkr", "fsx", "sagemaker.api", "kms"} <= set(closed)
    assert "secretsmanager" not in closed
    full = interface_endpoints(InternetAccess.NONE, list(EndpointFeature), ["sqs", "ssm"])
    inference = {"ecs", "ecs-agent", "ecs-telemetry", "cloudformation", "autoscaling"}
    work = {"sagemaker.runtime"}
    assert set(full) - set(closed) == {
        "secretsmanager",
        "aps-workspaces",
        "grafana-workspace",
        "sqs",
        *inference,
        *work,
    }
    assert len(full) == len(set(full))


def test_each_feature_has_an_endpoint():
    assert {feature for endpoint in node_endpoints() for feature in endpoint.needed_by} == {"always", *EndpointFeature}


def test_with_nat_the_network_has_endpoints_for_sessions_and_logs():
    assert interface_endpoints(InternetAccess.NAT) == ("ssm", "ssmmessages", "ec2messages", "logs")


def test_days_of_logs_are_those_of_the_resource_schema():
    known = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-west-2", "AWS::Logs::LogGroup")
    days = list[int](known.schema["properties"]["RetentionInDays"]["enum"])  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    assert list(address_facts().log_retention_days) == days
