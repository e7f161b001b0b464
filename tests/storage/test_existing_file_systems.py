"""File systems that exist already."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from llm_fleet import ExistingLustre, ExistingOpenZfs
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem


def rule_ports(stack: cdk.Stack) -> list[tuple[Any, ...]]:
    found = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress").values()
    return sorted(
        (r["Properties"]["GroupId"], r["Properties"]["IpProtocol"], r["Properties"].get("FromPort", 0)) for r in found
    )


def group(stack: cdk.Stack, name: str) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(stack, name, f"sg-{name.lower()}")


def test_lustre_by_its_attributes(stack: cdk.Stack):
    fsx: MountableLustre = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", availability_zone_id="usw2-az4"),
    )
    assert stack.resolve(fsx.dns_name) == {
        "Fn::Join": ["", ["fs-0123456789abcdef0.fsx.us-west-2.", {"Ref": "AWS::URLSuffix"}]]
    }
    assert (fsx.mount_name, fsx.availability_zone_id, fsx.efa_enabled) == ("abcdefgh", "usw2-az4", False)


def test_a_name_that_was_told_is_kept(stack: cdk.Stack):
    fsx = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(
            file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", dns_name="fs-0123456789abcdef0.example.com"
        ),
    )
    assert (fsx.dns_name, fsx.availability_zone_id) == ("fs-0123456789abcdef0.example.com", None)


def test_nothing_is_opened_of_a_group_that_nobody_told(stack: cdk.Stack):
    fsx = LustreFileSystem.from_attributes(
        stack, "Fsx", ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh")
    )
    home = OpenZfsFileSystem.from_attributes(stack, "Home", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1"))
    for existing in (fsx, home):
        existing.allow_mount_from(group(stack, f"Nodes{existing.dns_name[-3:]}{id(existing)}"))
    assert rule_ports(stack) == []


def test_ports_of_lustre_are_opened_once_and_both_ways(stack: cdk.Stack):
    fsx = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(
            file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", security_group=group(stack, "Own")
        ),
    )
    nodes = group(stack, "Nodes")
    fsx.allow_mount_from(nodes)
    fsx.allow_mount_from(nodes)
    assert rule_ports(stack) == [
        ("sg-nodes", "tcp", 988),
        ("sg-nodes", "tcp", 1018),
        ("sg-own", "tcp", 988),
        ("sg-own", "tcp", 1018),
    ]


def test_efa_opens_all_traffic(stack: cdk.Stack):
    fsx = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(
            file_system_id="fs-0123456789abcdef0",
            mount_name="abcdefgh",
            security_group=group(stack, "Own"),
            efa_enabled=True,
        ),
    )
    fsx.allow_mount_from(group(stack, "Nodes"))
    assert rule_ports(stack) == [("sg-nodes", "-1", 0), ("sg-own", "-1", 0)]


def test_open_zfs_by_its_attributes(stack: cdk.Stack):
    home: MountableOpenZfs = OpenZfsFileSystem.from_attributes(
        stack, "Home", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1", security_group=group(stack, "Own"))
    )
    home.allow_mount_from(group(stack, "Nodes"))
    assert rule_ports(stack) == [
        ("sg-own", protocol, port) for protocol in ("tcp", "udp") for port in (111, 2049, 20001)
    ]


def test_the_volume_of_a_home_is_known_when_it_was_made_here_or_told(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    made = OpenZfsFileSystem(stack, "Made", network=network)
    assert stack.resolve(made.volume_id) == {"Fn::GetAtt": [stack.get_logical_id(made.resource), "RootVolumeId"]}
    told = OpenZfsFileSystem.from_attributes(
        stack, "Told", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1", volume_id="fsvol-0123456789abcdef0")
    )
    untold = OpenZfsFileSystem.from_attributes(stack, "Untold", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1"))
    assert (told.volume_id, untold.volume_id) == ("fsvol-0123456789abcdef0", None)
