"""What is retained when a stack is deleted, and stable logical ids."""

import os
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from llm_fleet import DataRepository, LustreSpec
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket, FleetKey
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from tests.storage.conftest import all_of
from tools.synth_environment import ROOT


def policies(stack: cdk.Stack, *types: str) -> dict[str, tuple[str | None, str | None]]:
    """Deletion and replacement policy of each resource of `types`, by logical id."""
    found = all_of(stack, *types).items()
    return {name: (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")) for name, resource in found}


RETAINED = (
    "AWS::FSx::FileSystem",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCCidrBlock",
)


@pytest.mark.parametrize("make", [LustreFileSystem, OpenZfsFileSystem])
def test_a_file_system_is_retained_with_the_resources_that_it_depends_on(stack: cdk.Stack, make: Any):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    made = make(stack, "Fsx", network=network)
    kept = policies(stack, *RETAINED)
    # Resources that cost money, or give internet access, are not retained.
    gone = {name for name in kept if "Endpoints" in name or "Anywhere" in name}
    assert {kept[name] for name in kept.keys() - gone} == {("RetainExceptOnCreate", "Retain")}
    subnet = stack.resolve(network.compute_subnet().subnet_id)["Ref"]
    assert policies(stack, "AWS::EC2::Subnet")[subnet] == ("RetainExceptOnCreate", "Retain")
    assert stack.get_logical_id(made.resource) in kept


def test_with_removal_policy_destroy_nothing_is_retained(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    LustreFileSystem(stack, "Fsx", network=network, removal_policy=cdk.RemovalPolicy.DESTROY)
    kept = {name for name, policy in policies(stack, *RETAINED).items() if policy[0] == "RetainExceptOnCreate"}
    assert kept == set()


def test_a_link_to_s3_is_retained_with_its_file_system(stack: cdk.Stack, network: Network):
    for id, policy in (("Kept", cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE), ("Gone", cdk.RemovalPolicy.DESTROY)):
        fsx = LustreFileSystem(stack, id, network=network, removal_policy=policy)
        fsx.add_data_repository("Corpus", DataRepository(file_system_path="/corpus", s3="s3://corpus"))
    found = policies(stack, "AWS::FSx::DataRepositoryAssociation")
    assert {name[:4]: policy for name, policy in found.items()} == {
        "Kept": ("RetainExceptOnCreate", "Retain"),
        "Gone": ("Delete", "Delete"),
    }


def test_rules_of_an_additional_client_are_deleted_with_the_client(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    client = ec2.SecurityGroup(stack, "Client", vpc=network.vpc)
    fsx.allow_mount_from(client)
    found = policies(stack, "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
    of_client = [policy for name, policy in found.items() if client.node.addr[-8:] in name]
    assert of_client == [(None, None)] * 8


GOLDEN = ROOT / "tests" / "storage" / "golden" / "logical-ids.txt"


def test_golden_logical_ids(app: cdk.App, stack: cdk.Stack, network: Network):
    storage = cdk.Stack(app, "Storage", env=cdk.Environment(account=stack.account, region=stack.region))
    fsx = LustreFileSystem(storage, "Fsx", network=network)
    fsx.add_data_repository("Corpus", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    LustreFileSystem(storage, "Efa", LustreSpec(storage_capacity_gib=19200), network=network)
    OpenZfsFileSystem(storage, "Home", network=network).add_volume("apps")
    key = FleetKey(storage, "Key", alias="alias/fleet")
    logs = AccessLogBucket(storage, "AccessLogs")
    DataBucket(storage, "Data", BucketSpec(encryption_key=key), access_log_bucket=logs)
    resources = Template.from_stack(storage).to_json()["Resources"]
    listed = "".join(f"{name} {resource['Type']}\n" for name, resource in sorted(resources.items()))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(listed)
    assert GOLDEN.read_text() == listed, "logical ids have changed: if this is intended, run `make golden`"
