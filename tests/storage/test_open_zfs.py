"""FSx for OpenZFS in a template: file systems, and volumes in addition to the home directories."""

from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import Backups, OpenZfsSpec, OpenZfsVolumeSpec
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from tests.made_networks import SUBNETS
from tests.storage.conftest import all_of, only


def properties(stack: cdk.Stack) -> dict[str, Any]:
    return only(stack, "AWS::FSx::FileSystem")


def test_defaults_of_a_file_system(stack: cdk.Stack, network: Network):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    assert home.availability_zone_id == "usw2-az4"
    assert home.export_path == "/fsx"
    made = properties(stack)
    assert (made["FileSystemType"], made["StorageType"], made["StorageCapacity"]) == ("OPENZFS", "SSD", 512)
    assert made["SubnetIds"] == [SUBNETS["usw2-az4"]]
    assert made["SecurityGroupIds"] == [stack.resolve(home.security_group.security_group_id)]
    assert made["OpenZFSConfiguration"] == {
        "DeploymentType": "SINGLE_AZ_HA_2",
        "ThroughputCapacity": 160,
        "AutomaticBackupRetentionDays": 30,
        "CopyTagsToBackups": True,
        "CopyTagsToVolumes": True,
        "RootVolumeConfiguration": {
            "CopyTagsToSnapshots": True,
            "DataCompressionType": "ZSTD",
            "NfsExports": [
                {"ClientConfigurations": [{"Clients": "*", "Options": ["rw", "crossmnt", "no_root_squash"]}]}
            ],
        },
    }


def test_settings_of_a_file_system(stack: cdk.Stack, network: Network):
    OpenZfsFileSystem(
        stack,
        "Home",
        OpenZfsSpec(
            availability_zone_id="usw2-az1",
            deployment_type="SINGLE_AZ_1",
            storage_capacity_gib=1024,
            throughput_capacity=512,
            disk_iops=6000,
            compression="LZ4",
            record_size_kib=64,
            maintenance_start_time="7:03:00",
            encryption_key="arn:aws:kms:us-west-2:111122223333:key/abc",
            backups=Backups(retention_days=7, start_time="05:00"),
        ),
        network=network,
    )
    made = properties(stack)
    configuration = made["OpenZFSConfiguration"]
    assert made["KmsKeyId"] == "arn:aws:kms:us-west-2:111122223333:key/abc"
    assert made["SubnetIds"] == [SUBNETS["usw2-az1"]]
    assert configuration["DiskIopsConfiguration"] == {"Mode": "USER_PROVISIONED", "Iops": 6000}
    assert configuration["DailyAutomaticBackupStartTime"] == "05:00"
    assert configuration["WeeklyMaintenanceStartTime"] == "7:03:00"
    assert configuration["RootVolumeConfiguration"]["RecordSizeKiB"] == 64


def test_without_backups_there_is_no_backup_window(stack: cdk.Stack, network: Network):
    OpenZfsFileSystem(
        stack, "Home", OpenZfsSpec(backups=Backups(retention_days=0, start_time="05:00")), network=network
    )
    assert "DailyAutomaticBackupStartTime" not in properties(stack)["OpenZFSConfiguration"]


def test_all_problems_are_reported_together_and_before_anything_is_created(stack: cdk.Stack, network: Network):
    with pytest.raises(FleetError) as caught:
        OpenZfsFileSystem(stack, "Home", OpenZfsSpec(storage_capacity_gib=1, throughput_capacity=161), network=network)
    assert {p.code for p in caught.value.problems} == {Code.OPEN_ZFS_CAPACITY, Code.OPEN_ZFS_THROUGHPUT}
    assert caught.value.subject == "Test/Home"
    assert stack.node.try_find_child("Home") is None


def volume(stack: cdk.Stack) -> dict[str, Any]:
    (resource,) = all_of(stack, "AWS::FSx::Volume").values()
    return resource


def test_defaults_of_a_volume(stack: cdk.Stack, network: Network):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    apps = home.add_volume("apps")
    made = volume(stack)
    of_root = properties(stack)["OpenZFSConfiguration"]["RootVolumeConfiguration"]
    assert (made["Properties"]["Name"], made["Properties"]["VolumeType"]) == ("apps", "OPENZFS")
    assert made["Properties"]["OpenZFSConfiguration"] == {
        "ParentVolumeId": {"Fn::GetAtt": [stack.get_logical_id(home.resource), "RootVolumeId"]},
        **{key: of_root[key] for key in ("CopyTagsToSnapshots", "DataCompressionType", "NfsExports")},
    }
    assert (apps.export_path, apps.dns_name) == ("/fsx/apps", home.dns_name)
    assert stack.resolve(apps.volume_id) == {"Ref": stack.get_logical_id(apps.resource)}
    assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_settings_of_a_volume(stack: cdk.Stack, network: Network):
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


def test_all_problems_of_a_volume_are_reported_together(stack: cdk.Stack, network: Network):
    home = OpenZfsFileSystem(stack, "Home", OpenZfsSpec(storage_capacity_gib=100), network=network)
    with pytest.raises(FleetError) as caught:
        home.add_volume("Apps", OpenZfsVolumeSpec(name="a/b", quota_gib=200))
    assert [problem.code for problem in caught.value.problems] == [Code.OPEN_ZFS_VOLUME_NAME, Code.OPEN_ZFS_QUOTA]
    assert caught.value.subject == "Test/Home/Apps"
    assert home.node.try_find_child("Apps") is None


def test_a_volume_name_must_be_unique(stack: cdk.Stack, network: Network):
    home = OpenZfsFileSystem(stack, "Home", network=network)
    home.add_volume("apps")
    with pytest.raises(FleetError, match="already has a volume of this name"):
        home.add_volume("Apps", OpenZfsVolumeSpec(name="apps"))
