"""A volume beside the home directories, as CloudFormation is asked for it."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.storage.open_zfs import OpenZfsFileSystem


def volume(stack: cdk.Stack) -> dict[str, Any]:
    (resource,) = Template.from_stack(stack).find_resources("AWS::FSx::Volume").values()
    return dict(resource)


def test_defaults(stack: cdk.Stack, network: FleetNetwork):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    apps = home.add_volume("apps")
    made = volume(stack)
    root = Template.from_stack(stack).find_resources("AWS::FSx::FileSystem")
    (of_root,) = (each["Properties"]["OpenZFSConfiguration"]["RootVolumeConfiguration"] for each in root.values())
    properties = made["Properties"]
    assert (properties["Name"], properties["VolumeType"]) == ("apps", "OPENZFS")
    assert properties["OpenZFSConfiguration"] == {
        "ParentVolumeId": {"Fn::GetAtt": [stack.get_logical_id(home.resource), "RootVolumeId"]},
        **{key: of_root[key] for key in ("CopyTagsToSnapshots", "DataCompressionType", "NfsExports")},
    }
    assert (apps.export_path, apps.dns_name) == ("/fsx/apps", home.dns_name)
    assert stack.resolve(apps.volume_id) == {"Ref": stack.get_logical_id(apps.resource)}
    assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_wishes(stack: cdk.Stack, network: FleetNetwork):
    home = OpenZfsFileSystem(
        stack,
        "Home",
        OpenZfsSpec(compression="LZ4", record_size_kib=64),
        network=network,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    home.add_volume("Tools", OpenZfsVolumeSpec(name="tools", quota_gib=200))
    made = volume(stack)
    configuration = made["Properties"]["OpenZFSConfiguration"]
    assert made["Properties"]["Name"] == "tools"
    assert configuration["StorageCapacityQuotaGiB"] == 200
    assert (configuration["DataCompressionType"], configuration["RecordSizeKiB"]) == ("LZ4", 64)
    assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("Delete", "Delete")


def test_all_that_is_wrong_is_told_at_once_and_before_anything_is_made(stack: cdk.Stack, network: FleetNetwork):
    home = OpenZfsFileSystem(stack, "Home", OpenZfsSpec(storage_capacity_gib=100), network=network)
    with pytest.raises(FleetError) as caught:
        home.add_volume("Apps", OpenZfsVolumeSpec(name="a/b", quota_gib=200))
    assert [problem.code for problem in caught.value.problems] == [Code.OPEN_ZFS_VOLUME_NAME, Code.OPEN_ZFS_QUOTA]
    assert caught.value.subject == "Test/Home/Apps"
    assert home.node.try_find_child("Apps") is None


def test_a_name_is_given_once(stack: cdk.Stack, network: FleetNetwork):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    home.add_volume("apps")
    with pytest.raises(FleetError, match="has a volume of this name already"):
        home.add_volume("Apps", OpenZfsVolumeSpec(name="apps"))
