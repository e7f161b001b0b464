"""What a deployed fleet has in a VPC that is not its own does not count as usage by others."""

import json
from collections import Counter
from collections.abc import Generator

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import ENOUGH, TRN1, Check

_STACK = "post-network"
_COUNTED = (
    "Internet gateways per Region",
    "NAT gateways per Availability Zone",
    "Network interfaces per Region",
    "EC2-VPC Elastic IPs",
)


def _template(vpc: str) -> str:
    resources = {
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Attached": {
            "Type": "AWS::EC2::VPCGatewayAttachment",
            "Properties": {"VpcId": vpc, "InternetGatewayId": {"Ref": "Gateway"}},
        },
        "Public": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {"VpcId": vpc, "CidrBlock": "10.0.0.0/20", "AvailabilityZone": "us-west-2d"},
        },
        "Address": {"Type": "AWS::EC2::EIP", "DependsOn": "Attached", "Properties": {"Domain": "vpc"}},
        "Nat": {
            "Type": "AWS::EC2::NatGateway",
            "Properties": {"SubnetId": {"Ref": "Public"}, "AllocationId": {"Fn::GetAtt": ["Address", "AllocationId"]}},
        },
    }
    return json.dumps({"Resources": resources})


@pytest.fixture
def text(aws: LocalAws) -> Generator[str]:
    """A fleet in an existing VPC, after its deployment: gateways in its stack, and an interface in its subnet."""
    ec2, cloudformation = aws.client("ec2"), aws.client("cloudformation")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.1.0.0/16")
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/17", AvailabilityZoneId="usw2-az4")["Subnet"]["SubnetId"]
    cloudformation.create_stack(StackName=_STACK, TemplateBody=_template(vpc))
    cloudformation.get_waiter("stack_create_complete").wait(StackName=_STACK, WaiterConfig={"Delay": 1})
    interface = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    yield TRN1.replace("az: usw2-az4", f"az: usw2-az4, existing: {{vpc: {vpc}, subnets: {{usw2-az4: {subnet}}}}}")
    ec2.delete_network_interface(NetworkInterfaceId=interface)
    cloudformation.delete_stack(StackName=_STACK)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=_STACK, WaiterConfig={"Delay": 1})
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
    aws.give_account(quotas=ENOUGH)


def _usage(check: Check, text: str) -> Counter[str]:
    rows = check(text, "--json", "--only", "quotas").rows
    details = {name: rows[f"quota {name}"]["detail"].rpartition(", ")[2] for name in _COUNTED}
    return Counter({name: int(detail.removesuffix(" in use")) for name, detail in details.items()})


def test_gateways_and_interfaces_of_the_fleet_in_an_existing_vpc_are_not_of_others(check: Check, text: str):
    # Other tests leave resources in the account, so usage is compared with that of a fleet without stacks.
    others = _usage(check, text.replace("fleet: post", "fleet: other"))
    own = Counter(_COUNTED) + Counter(["Network interfaces per Region"])
    assert others - _usage(check, text) == own


def test_resources_of_others_in_the_same_vpc_count(check: Check, aws: LocalAws, text: str):
    ec2 = aws.client("ec2")
    vpc = text.partition("vpc: ")[2].partition(",")[0]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.16.0/20", AvailabilityZoneId="usw2-az4")["Subnet"]["SubnetId"]
    before = _usage(check, text)
    interface = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    try:
        assert _usage(check, text) - before == Counter(["Network interfaces per Region"])
    finally:
        ec2.delete_network_interface(NetworkInterfaceId=interface)
        ec2.delete_subnet(SubnetId=subnet)
