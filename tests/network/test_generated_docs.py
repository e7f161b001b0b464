"""The numbers on the network's page are those of the code, and its examples run."""

import inspect

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from llm_fleet.catalog.network import node_endpoints
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.addresses import AddressClaim, check_addresses, plan_addresses
from llm_fleet.rules.network import interface_endpoints
from llm_fleet.rules.terms import InternetAccess
from tests.pages import CONSTRUCTS, check_made, examples

PAGE = CONSTRUCTS / "network.md"
CLUSTERS = [("ml.trn1.32xlarge", 4), ("ml.trn2.48xlarge", 16), ("ml.p4d.24xlarge", 32), ("ml.p5.48xlarge", 40)]
LARGE = ("ml.p5.48xlarge", 150)


def claims_of(instance_type: str, count: int) -> list[AddressClaim]:
    return [
        AddressClaim.for_instances(owner="train/workers", instance_types=instance_type, count=count),
        AddressClaim.for_file_system(owner="fsx", what="FSx for Lustre"),
    ]


def problem() -> str:
    found = check_addresses(plan_addresses(claims_of("ml.p5.48xlarge", 40), subnet_cidrs={"usw2-az4": "10.1.0.0/24"}))
    return "```text\n" + "\n".join(map(str, found)) + "\n```"


def plan() -> str:
    others = {"usw2-az4": len(interface_endpoints(InternetAccess.NAT)) + 1}
    rows = [
        "| nodes | addresses each | addresses with headroom and reserved | smallest subnet | part of the quota |",
        "|---|---|---|---|---|",
    ]
    for instance_type, count in [*CLUSTERS, LARGE]:
        claims = claims_of(instance_type, count)
        made = plan_addresses(claims, subnet_cidrs={"usw2-az4": None}, other_interfaces=others)
        zone = made.zones[0]
        rows.append(
            f"| {count} x `{instance_type}` | {claims[0].addresses_each} | {zone.addresses_needed} | "
            f"/{zone.prefix_needed} | {made.quota_share(zone):.1%} |"
        )
    return "\n".join(rows)


def endpoints() -> str:
    rows = [
        "| endpoint | for | created in a network |",
        "|---|---|---|",
        "| `s3` (gateway) | buckets, container layers | always |",
    ]
    for one in node_endpoints():
        made = "closed, and with NAT" if one.even_with_nat else "closed"
        features = " or ".join(f"`{feature}`" for feature in one.needed_by)
        rows.append(
            f"| `{one.name}` | {one.purpose} | {made if 'always' in one.needed_by else f'feature {features}'} |"
        )
    return "\n".join(rows)


def test_generated_parts_are_up_to_date():
    check_made(PAGE, problem=problem(), plan=plan(), endpoints=endpoints())


@pytest.mark.parametrize("block", examples(PAGE.read_text()))
def test_the_examples_run(stack: cdk.Stack, block: str):
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-01234567", availability_zones=["us-west-2a"])
    file_system = cdk.CfnResource(stack, "FileSystem", type="AWS::FSx::FileSystem")
    exec(block, {"self": stack, "vpc": vpc, "file_system": file_system, "FleetNetwork": FleetNetwork})


def test_every_parameter_is_documented_on_the_page():
    parameters = [
        name for name in inspect.signature(FleetNetwork.__init__).parameters if name not in ("self", "scope", "id")
    ]
    assert parameters[0] == "spec"
    assert [name for name in parameters[1:] if f"| `{name}` |" not in PAGE.read_text()] == []
