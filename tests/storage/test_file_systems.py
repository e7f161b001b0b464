"""Ports of file systems, and existing file systems."""

from collections.abc import Collection
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from llm_fleet import ExistingLustre, ExistingOpenZfs, LustreSpec
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import rule_description
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from tests.storage.conftest import all_of

Rule = tuple[str, str, str, int | None, int | None]
"""From, to, protocol, first port, last port."""


def group_of(value: Any) -> str:
    """The logical id of the security group that `value` refers to, or the name of its export."""
    return value["Fn::GetAtt"][0] if "Fn::GetAtt" in value else str(value)


def rules(template: dict[str, Any], kind: str, own: str, other: str) -> set[Rule]:
    return {
        (
            group_of(rule["Properties"][own]),
            group_of(rule["Properties"][other]),
            rule["Properties"]["IpProtocol"],
            rule["Properties"].get("FromPort"),
            rule["Properties"].get("ToPort"),
        )
        for rule in template.get("Resources", {}).values()
        if rule["Type"] == kind and other in rule["Properties"]
    }


def outward(template: dict[str, Any]) -> set[Rule]:
    return rules(template, "AWS::EC2::SecurityGroupEgress", "GroupId", "DestinationSecurityGroupId")


def inward(template: dict[str, Any]) -> set[Rule]:
    """In the same form as `outward`: from the source to the group."""
    found = rules(template, "AWS::EC2::SecurityGroupIngress", "GroupId", "SourceSecurityGroupId")
    return {(source, target, *ports) for target, source, *ports in found}  # type: ignore[misc]


def ids(stack: cdk.Stack, *groups: ec2.ISecurityGroup) -> list[str]:
    return [group_of(stack.resolve(group.security_group_id)) for group in groups]


def json_of(stack: cdk.Stack) -> dict[str, Any]:
    return dict(Template.from_stack(stack).to_json())


def assert_rules(stack: cdk.Stack, expected: Collection[Rule]) -> None:
    """Both halves of each rule are there, and no other."""
    template = json_of(stack)
    assert outward(template) == inward(template) == set(expected)


def test_lustre_has_lnet_ports_to_its_clients_and_between_its_servers(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    own, nodes = ids(stack, fsx.security_group, network.security_group)
    expected = {
        (source, target, "tcp", first, last)
        for source, target in ((nodes, own), (own, nodes), (own, own))
        for first, last in ((988, 988), (1018, 1023))
    }
    assert_rules(stack, {*expected, (nodes, nodes, "-1", None, None)})


def test_efa_requires_all_traffic_both_ways(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=19200), network=network)
    own, nodes = ids(stack, fsx.security_group, network.security_group)
    expected = {(s, t, "-1", None, None) for s in (own, nodes) for t in (own, nodes)}
    assert_rules(stack, expected)


def test_open_zfs_has_nfs_ports_from_its_clients_only(stack: cdk.Stack, network: Network):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    own, nodes = ids(stack, home.security_group, network.security_group)
    expected = {
        (nodes, own, protocol, first, last)
        for protocol in ("tcp", "udp")
        for first, last in ((111, 111), (2049, 2049), (20001, 20003))
    }
    assert_rules(stack, {*expected, (nodes, nodes, "-1", None, None)})


@pytest.mark.parametrize("make", [LustreFileSystem, OpenZfsFileSystem])
def test_the_group_of_a_file_system_allows_no_other_egress(stack: cdk.Stack, network: Network, make: Any):
    made = make(stack, "Fsx", network=network)
    (own,) = ids(stack, made.security_group)
    properties = json_of(stack)["Resources"][own]["Properties"]
    # What the CDK writes for no egress: otherwise CloudFormation would allow egress to all addresses.
    assert [rule["CidrIp"] for rule in properties["SecurityGroupEgress"]] == ["255.255.255.255/32"]
    assert "SecurityGroupIngress" not in properties


def test_lustre_depends_on_every_rule_that_it_requires(stack: cdk.Stack, network: Network):
    """FSx tries port 988, and EFA's permissions, when the file system is created."""
    LustreFileSystem(stack, "Fsx", network=network)
    resources = json_of(stack)["Resources"]
    (file_system,) = [r for r in resources.values() if r["Type"] == "AWS::FSx::FileSystem"]
    all_rules = {
        name
        for name, resource in resources.items()
        if resource["Type"] in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
        and "CidrIp" not in resource["Properties"]
    }
    assert all_rules <= set(file_system["DependsOn"])
    assert len(all_rules) >= 12


def test_an_additional_client_is_allowed_once(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    client = ec2.SecurityGroup(stack, "Client", vpc=network.vpc, allow_all_outbound=False)
    for _ in range(2):
        fsx.allow_mount_from(client)
        fsx.allow_mount_from(network.security_group)
        fsx.allow_mount_from(fsx.security_group)
    own, theirs, nodes = ids(stack, fsx.security_group, client, network.security_group)
    found = outward(json_of(stack))
    assert (theirs, own, "tcp", 988, 988) in found
    assert (own, theirs, "tcp", 988, 988) in found
    assert len([rule for rule in found if theirs in rule]) == 4
    assert len([rule for rule in found if nodes in rule and own in rule]) == 4


def test_rules_of_a_client_are_in_the_clients_stack(app: cdk.App, stack: cdk.Stack, network: Network):
    """Storage must not depend on a cluster, and a deleted cluster must delete its rules."""
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    other = cdk.Stack(app, "Other", env=cdk.Environment(account="111122223333", region="us-west-2"))
    client = ec2.SecurityGroup(other, "Client", vpc=network.vpc, allow_all_outbound=False)
    fsx.allow_mount_from(client)
    (theirs,) = ids(other, client)
    assert not any(theirs in rule for rule in outward(json_of(stack)))
    made = [
        r
        for r in json_of(other)["Resources"].values()
        if r["Type"].startswith("AWS::EC2::SecurityGroup") and r["Type"] != "AWS::EC2::SecurityGroup"
    ]
    assert len(made) == 8
    assert all("DeletionPolicy" not in rule for rule in made)


def test_network_storage_and_client_can_be_in_three_stacks(app: cdk.App, stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    environment = cdk.Environment(account="111122223333", region="us-west-2")
    storage, cluster = cdk.Stack(app, "Storage", env=environment), cdk.Stack(app, "Cluster", env=environment)
    fsx = LustreFileSystem(storage, "Fsx", network=network)
    home = OpenZfsFileSystem(storage, "Home", network=network)
    client = ec2.SecurityGroup(cluster, "Client", vpc=network.vpc)
    fsx.allow_mount_from(client)
    home.allow_mount_from(client)
    assembly = app.synth()
    needs = {made.stack_name: {d.id for d in made.dependencies} - {f"{made.id}.assets"} for made in assembly.stacks}
    assert needs == {"Test": set(), "Storage": {"Test"}, "Cluster": {"Test", "Storage"}}


def test_connections_open_the_ports_of_lustre(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    fsx.connections.allow_default_port_from(ec2.Peer.ipv4("10.9.0.0/16"))
    (own,) = ids(stack, fsx.security_group)
    (rule,) = json_of(stack)["Resources"][own]["Properties"]["SecurityGroupIngress"]
    assert (rule["FromPort"], rule["ToPort"]) == (988, 1023)


def test_rules_of_a_client_in_the_network_stack_are_in_the_stack_of_the_file_system(
    app: cdk.App, stack: cdk.Stack, network: Network
):
    """The network's stack cannot wait for a file system that waits for the network."""
    storage = cdk.Stack(app, "Storage", env=cdk.Environment(account="111122223333", region="us-west-2"))
    fsx = LustreFileSystem(storage, "Fsx", network=network)
    client = ec2.SecurityGroup(stack, "Client", vpc=network.vpc)
    fsx.allow_mount_from(client)
    app.synth()
    assert not stack.dependencies
    theirs = stack.resolve(client.security_group_id)["Fn::GetAtt"][0]
    assert any(theirs in str(rule) for rule in outward(json_of(storage)))


def test_a_group_known_by_its_id_is_allowed_once_if_imported_several_times(
    app: cdk.App, stack: cdk.Stack, network: Network
):
    """EC2 rejects a rule that already exists, even in another stack."""
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    others = [cdk.Stack(app, name, env=cdk.Environment(region="us-west-2")) for name in ("One", "Two")]
    for other in others:
        fsx.allow_mount_from(ec2.SecurityGroup.from_security_group_id(other, "Imported", "sg-0123456789abcdef0"))
    for other in others:
        assert not outward(json_of(other))
    kinds = [r["Properties"] for r in json_of(stack)["Resources"].values() if r["Type"].endswith("SecurityGroupEgress")]
    assert len([rule for rule in kinds if rule.get("DestinationSecurityGroupId") == "sg-0123456789abcdef0"]) == 2
    assert "sg-0123456789abcdef0" not in [rule["GroupId"] for rule in kinds], "what it lets out stays as it is"


def test_an_existing_file_system_in_the_group_of_its_clients_needs_no_rules(stack: cdk.Stack):
    shared = [ec2.SecurityGroup.from_security_group_id(stack, name, "sg-0123456789abcdef0") for name in ("A", "B")]
    existing_lustre(stack, security_group=shared[0]).allow_mount_from(shared[1])
    assert not outward(json_of(stack))


def test_descriptions_name_the_owner_in_characters_that_ec2_accepts(stack: cdk.Stack, network: Network):
    LustreFileSystem(stack, "Bob's <data>", network=network)
    descriptions = {
        resource["Properties"].get("Description", resource["Properties"].get("GroupDescription"))
        for resource in json_of(stack)["Resources"].values()
        if resource["Type"].startswith("AWS::EC2::SecurityGroup")
    }
    assert "FSx for Lustre: from clients to Bob-s -data-" in descriptions
    assert "FSx for Lustre: Bob-s -data-" in descriptions
    assert not [text for text in descriptions if rule_description(text) != text]


def rule_ports(stack: cdk.Stack) -> list[tuple[Any, ...]]:
    found = (rule["Properties"] for rule in all_of(stack, "AWS::EC2::SecurityGroupIngress").values())
    return sorted((rule["GroupId"], rule["IpProtocol"], rule.get("FromPort", 0)) for rule in found)


def group(stack: cdk.Stack, name: str) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(stack, name, f"sg-{name.lower()}")


LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdefgh"}
HOME = {"file_system_id": "fs-0123456789abcdef1"}


def existing_lustre(stack: cdk.Stack, **more: Any) -> MountableLustre:
    return LustreFileSystem.from_attributes(stack, "Fsx", ExistingLustre(**LUSTRE, **more))


def existing_home(stack: cdk.Stack, id: str = "Home", **more: Any) -> MountableOpenZfs:
    return OpenZfsFileSystem.from_attributes(stack, id, ExistingOpenZfs(**HOME, **more))


def test_lustre_by_its_attributes(stack: cdk.Stack):
    fsx = existing_lustre(stack, availability_zone_id="usw2-az4")
    assert stack.resolve(fsx.dns_name) == {
        "Fn::Join": ["", ["fs-0123456789abcdef0.fsx.us-west-2.", {"Ref": "AWS::URLSuffix"}]]
    }
    assert (fsx.mount_name, fsx.availability_zone_id, fsx.efa_enabled) == ("abcdefgh", "usw2-az4", False)


def test_a_given_dns_name_is_kept(stack: cdk.Stack):
    fsx = existing_lustre(stack, dns_name="fs-0123456789abcdef0.example.com")
    assert (fsx.dns_name, fsx.availability_zone_id) == ("fs-0123456789abcdef0.example.com", None)


def test_without_a_known_security_group_no_ports_are_opened(stack: cdk.Stack):
    for n, existing in enumerate((existing_lustre(stack), existing_home(stack))):
        existing.allow_mount_from(group(stack, f"Nodes{n}"))
    assert rule_ports(stack) == []


OWN: list[tuple[dict[str, Any], Any]] = [
    ({}, [(owner, "tcp", port) for owner in ("sg-nodes", "sg-own") for port in (988, 1018)]),
    ({"efa_enabled": True}, [("sg-nodes", "-1", 0), ("sg-own", "-1", 0)]),
]


@pytest.mark.parametrize(("more", "opened"), OWN)
def test_ports_of_lustre_are_opened_once_and_both_ways(stack: cdk.Stack, more: Any, opened: Any):
    fsx, nodes = existing_lustre(stack, security_group=group(stack, "Own"), **more), group(stack, "Nodes")
    fsx.allow_mount_from(nodes)
    fsx.allow_mount_from(nodes)
    assert rule_ports(stack) == opened


def test_open_zfs_by_its_attributes(stack: cdk.Stack):
    existing_home(stack, security_group=group(stack, "Own")).allow_mount_from(group(stack, "Nodes"))
    assert rule_ports(stack) == [
        ("sg-own", protocol, port) for protocol in ("tcp", "udp") for port in (111, 2049, 20001)
    ]


def test_the_volume_id_of_a_home_is_known_if_it_is_new_or_given(stack: cdk.Stack, network: Network):
    made = OpenZfsFileSystem(stack, "Made", network=network)
    assert stack.resolve(made.volume_id) == {"Fn::GetAtt": [stack.get_logical_id(made.resource), "RootVolumeId"]}
    assert existing_home(stack, volume_id="fsvol-0123456789abcdef0").volume_id == "fsvol-0123456789abcdef0"
    assert existing_home(stack, "Untold").volume_id is None
