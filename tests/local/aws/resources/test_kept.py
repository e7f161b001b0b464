"""What an emulated service takes and does not report is named in the notes."""

from typing import Any

from local.aws.resources.kept import forgotten
from tests.local.aws.resources.support import Deployer, Network


def shape(deployer: Deployer) -> Any:
    return deployer.provider.services.output_shape("ec2", "DescribeSubnets")


def test_what_is_reported_as_given_is_not_named(deployer: Deployer) -> None:
    given = {"CidrBlock": "10.0.0.0/20", "MapPublicIpOnLaunch": "true"}
    assert (
        forgotten(shape(deployer), given, {"Subnets": [{"CidrBlock": "10.0.0.0/20", "MapPublicIpOnLaunch": True}]})
        == []
    )


def test_what_is_missing_or_different_is_named(deployer: Deployer) -> None:
    given = {"CidrBlock": "10.0.0.0/20", "OutpostArn": "arn:x", "NotToldByEc2": 1}
    assert forgotten(shape(deployer), given, {"Subnets": [{"CidrBlock": "10.0.16.0/20"}]}) == [
        "CidrBlock",
        "OutpostArn",
    ]


def test_a_resource_says_what_its_service_forgot(deployer: Deployer, network: Network) -> None:
    created = deployer.create(
        "AWS::EC2::VPCEndpoint",
        VpcId=network.vpc,
        ServiceName="com.amazonaws.us-west-2.ssm",
        VpcEndpointType="Interface",
        SubnetIds=[network.subnet],
        IpAddressType="ipv4",
    )
    assert [note.split(":")[0] for note in created.notes] == ["IpAddressType"]


def test_a_resource_reported_whole_has_no_notes(deployer: Deployer, network: Network) -> None:
    assert deployer.create("AWS::FSx::FileSystem", **network.lustre()).notes == ()
