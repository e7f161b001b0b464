"""Properties that an emulated service accepts and does not return are in the notes."""

from typing import Any

from llm_fleet_local.aws.resources.kept import forgotten
from tests.local.aws.resources.support import Deployer, Network


def shape(deployer: Deployer) -> Any:
    return deployer.provider.services.output_shape("ec2", "DescribeSubnets")


def test_properties_that_are_returned_unchanged_are_not_reported(deployer: Deployer) -> None:
    given = {"CidrBlock": "10.0.0.0/20", "MapPublicIpOnLaunch": "true"}
    assert (
        forgotten(shape(deployer), given, {"Subnets": [{"CidrBlock": "10.0.0.0/20", "MapPublicIpOnLaunch": True}]})
        == []
    )


def test_missing_and_different_properties_are_reported(deployer: Deployer) -> None:
    given = {"CidrBlock": "10.0.0.0/20", "OutpostArn": "arn:x", "NotToldByEc2": 1}
    assert forgotten(shape(deployer), given, {"Subnets": [{"CidrBlock": "10.0.16.0/20"}]}) == [
        "CidrBlock",
        "OutpostArn",
    ]


def test_the_notes_of_a_resource_name_dropped_properties(deployer: Deployer, network: Network) -> None:
    created = deployer.create(
        "AWS::EC2::VPCEndpoint",
        VpcId=network.vpc,
        ServiceName="com.amazonaws.us-west-2.ssm",
        VpcEndpointType="Interface",
        SubnetIds=[network.subnet],
        IpAddressType="ipv4",
    )
    assert [note.split(":")[0] for note in created.notes] == ["IpAddressType"]


def test_a_completely_returned_resource_has_no_notes(deployer: Deployer, network: Network) -> None:
    assert deployer.create("AWS::FSx::FileSystem", **network.lustre()).notes == ()
