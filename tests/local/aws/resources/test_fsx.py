"""FSx: settings are kept and returned, FSx's rules are applied, updates change what the API can change."""

import re
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import Level, ReplacementNeeded, ResourceFailed
from tests.local.aws.resources.support import Deployer, Network

TYPE = "AWS::FSx::FileSystem"
IOPS = {"Mode": "USER_PROVISIONED"}


def reported(deployer: Deployer, file_system_id: str) -> dict[str, Any]:
    return deployer.client("fsx").describe_file_systems(FileSystemIds=[file_system_id])["FileSystems"][0]


def test_lustre_is_reported_as_requested(deployer: Deployer, network: Network) -> None:
    key = deployer.create("AWS::KMS::Key", KeyPolicy={"Version": "2012-10-17", "Statement": []}).attributes["Arn"]
    metadata = {"Mode": "USER_PROVISIONED", "Iops": 6000}
    requested = network.lustre(EfaEnabled="true", MetadataConfiguration=metadata, DataCompressionType="LZ4")
    created = deployer.create(TYPE, **requested, KmsKeyId=key, Tags=[{"Key": "team", "Value": "ml"}])
    found = reported(deployer, created.physical_id)
    assert found["FileSystemTypeVersion"] == "2.15"
    assert found["StorageCapacity"] == 4800
    assert found["SubnetIds"] == [network.subnet]
    assert found["VpcId"] == network.vpc
    assert found["KmsKeyId"] == key
    lustre = found["LustreConfiguration"]
    assert lustre["DeploymentType"] == "PERSISTENT_2"
    assert lustre["EfaEnabled"] is True
    assert lustre["MetadataConfiguration"] == metadata
    assert lustre["PerUnitStorageThroughput"] == 250
    assert {tag["Key"]: tag["Value"] for tag in found["Tags"]} == {"team": "ml", "fleet": "test"}
    assert created.level is Level.API
    assert created.attributes["LustreMountName"] == lustre["MountName"]
    assert len(lustre["MountName"]) == 8
    assert created.attributes["DNSName"] == f"{created.physical_id}.fsx.us-west-2.amazonaws.com"


def test_its_network_interface_shows_its_security_groups(deployer: Deployer, network: Network) -> None:
    created = deployer.create(TYPE, **network.lustre())
    interface = reported(deployer, created.physical_id)["NetworkInterfaceIds"][0]
    found = deployer.client("ec2").describe_network_interfaces(NetworkInterfaceIds=[interface])["NetworkInterfaces"][0]
    assert [group["GroupId"] for group in found["Groups"]] == [network.group]
    assert found["SubnetId"] == network.subnet


def test_lustre_requires_port_988_from_its_own_group(deployer: Deployer) -> None:
    closed = Network(deployer, self_rules=False)
    with pytest.raises(ResourceFailed, match=r"InvalidNetworkSettings.*988"):
        deployer.create(TYPE, **closed.lustre())
    closed.open_to_itself("tcp", FromPort=988, ToPort=988)
    deployer.create(TYPE, **closed.lustre())


def test_efa_requires_all_traffic_in_both_directions(deployer: Deployer) -> None:
    network = Network(deployer, self_rules=False)
    network.open_to_itself("tcp", FromPort=988, ToPort=1023)
    with pytest.raises(ResourceFailed, match="insufficient security group permissions"):
        deployer.create(TYPE, **network.lustre(EfaEnabled=True))
    network.open_to_itself("-1")
    deployer.create(TYPE, **network.lustre(EfaEnabled=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"SubnetIds": ["subnet-0123456789abcdef0"]}, "subnet ID 'subnet-0123456789abcdef0' does not exist"),
        ({"SecurityGroupIds": ["sg-0123456789abcdef0"]}, "security group ID 'sg-0123456789abcdef0' does not exist"),
        ({"KmsKeyId": "arn:aws:kms:us-west-2:123456789012:key/none"}, "KMS key .* does not exist"),
        ({"StorageCapacity": -1}, "StorageCapacity"),
    ],
)
def test_missing_resources_are_rejected(
    deployer: Deployer, network: Network, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ResourceFailed, match=message):
        deployer.create(TYPE, **(network.lustre() | change))


def test_a_subnet_or_group_in_use_cannot_be_deleted(deployer: Deployer, network: Network) -> None:
    requested = network.lustre()
    created = deployer.create(TYPE, **requested)
    for kind, thing in (
        ("AWS::EC2::Subnet", network.subnet_created),
        ("AWS::EC2::SecurityGroup", network.group_created),
    ):
        with pytest.raises(ResourceFailed, match=r"DependencyViolation.*" + created.physical_id):
            deployer.delete(kind, thing)
    deployer.delete(TYPE, created, **requested)
    deployer.delete("AWS::EC2::Subnet", network.subnet_created)
    deployer.delete("AWS::EC2::SecurityGroup", network.group_created)


def test_an_update_keeps_the_file_system(deployer: Deployer, network: Network) -> None:
    old = network.lustre(DataCompressionType="NONE")
    created = deployer.create(TYPE, **old)
    new = network.lustre(DataCompressionType="LZ4", PerUnitStorageThroughput=500) | {"StorageCapacity": 7200}
    updated = deployer.update(TYPE, created, old, new)
    assert updated.physical_id == created.physical_id
    assert updated.attributes["LustreMountName"] == created.attributes["LustreMountName"]
    found = reported(deployer, created.physical_id)
    assert found["StorageCapacity"] == 7200
    assert found["LustreConfiguration"]["DataCompressionType"] == "LZ4"
    assert found["LustreConfiguration"]["PerUnitStorageThroughput"] == 500


def test_storage_cannot_shrink(deployer: Deployer, network: Network) -> None:
    old = network.lustre()
    created = deployer.create(TYPE, **old)
    with pytest.raises(ResourceFailed, match="StorageCapacity cannot change from 4800 GiB to 2400 GiB"):
        deployer.update(TYPE, created, old, old | {"StorageCapacity": 2400})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ({"EfaEnabled": True}, {"EfaEnabled": True, "PerUnitStorageThroughput": 500}, "cannot be modified"),
        ({}, {"EfaEnabled": True}, "not accept LustreConfiguration.EfaEnabled"),
        (
            {"MetadataConfiguration": IOPS | {"Iops": 6000}},
            {"MetadataConfiguration": IOPS | {"Iops": 3000}},
            "6000 to 3000",
        ),
        ({"ThroughputCapacity": 8000}, {"ThroughputCapacity": 4000}, "from 8000 to 4000"),
    ],
)
def test_settings_that_fsx_cannot_change(
    deployer: Deployer, network: Network, before: dict[str, Any], after: dict[str, Any], message: str
) -> None:
    old = network.lustre(**before)
    created = deployer.create(TYPE, **old)
    with pytest.raises(ResourceFailed, match=message):
        deployer.update(TYPE, created, old, network.lustre(**after))


def test_a_file_system_with_efa_grows_by_the_capacity_of_a_server(deployer: Deployer, network: Network) -> None:
    old: dict[str, Any] = {**network.lustre(EfaEnabled=True), "StorageCapacity": 19200}
    created = deployer.create(TYPE, **old)
    with pytest.raises(ResourceFailed, match="must be a multiple of 19200 GiB"):
        deployer.update(TYPE, created, old, old | {"StorageCapacity": 21600})
    deployer.update(TYPE, created, old, old | {"StorageCapacity": 38400})
    with pytest.raises(ResourceFailed, match="StorageType cannot change"):
        deployer.update(TYPE, created, old, old | {"StorageCapacity": 38400, "StorageType": "HDD"})


@pytest.mark.parametrize("change", [{"DeploymentType": "PERSISTENT_1"}])
def test_another_deployment_type_is_another_file_system(
    deployer: Deployer, network: Network, change: dict[str, Any]
) -> None:
    old = network.lustre()
    created = deployer.create(TYPE, **old)
    with pytest.raises(ReplacementNeeded, match=r"LustreConfiguration.DeploymentType"):
        deployer.update(TYPE, created, old, network.lustre(**change))
    with pytest.raises(ReplacementNeeded, match="SecurityGroupIds"):
        deployer.update(TYPE, created, old, old | {"SecurityGroupIds": ["sg-0123456789abcdef0"]})


def test_tags_of_backups_and_the_root_volume_cannot_change(deployer: Deployer, network: Network) -> None:
    old = network.lustre()
    created = deployer.create(TYPE, **old)
    with pytest.raises(ReplacementNeeded, match=r"LustreConfiguration.CopyTagsToBackups"):
        deployer.update(TYPE, created, old, network.lustre(CopyTagsToBackups=True))
    zfs = {"DeploymentType": "SINGLE_AZ_HA_2", "ThroughputCapacity": 320}
    old: dict[str, Any] = {"FileSystemType": "OPENZFS", "StorageCapacity": 512, "SubnetIds": [network.subnet]}
    old |= {"SecurityGroupIds": [network.group], "OpenZFSConfiguration": zfs}
    system = deployer.create(TYPE, logical_id="Zfs", **old)
    other = {"OpenZFSConfiguration": zfs | {"RootVolumeConfiguration": {"RecordSizeKiB": 16}}}
    with pytest.raises(ReplacementNeeded, match=r"OpenZFSConfiguration.RootVolumeConfiguration"):
        deployer.update(TYPE, system, old, old | other)


def test_open_zfs_has_a_root_volume_and_child_volumes(deployer: Deployer, network: Network) -> None:
    export = {"ClientConfigurations": [{"Clients": "10.0.0.0/16", "Options": ["rw", "no_root_squash"]}]}
    system = deployer.create(
        TYPE,
        FileSystemType="OPENZFS",
        StorageCapacity=512,
        SubnetIds=[network.subnet],
        SecurityGroupIds=[network.group],
        OpenZFSConfiguration={
            "DeploymentType": "SINGLE_AZ_HA_2",
            "ThroughputCapacity": 320,
            "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
            "RootVolumeConfiguration": {"NfsExports": [export], "DataCompressionType": "LZ4"},
        },
    )
    root = system.attributes["RootVolumeId"]
    home = {"ParentVolumeId": root, "NfsExports": [export], "StorageCapacityQuotaGiB": 100}
    volume = deployer.create("AWS::FSx::Volume", Name="home", VolumeType="OPENZFS", OpenZFSConfiguration=home)
    found = {
        one["VolumeId"]: one["OpenZFSConfiguration"] for one in deployer.client("fsx").describe_volumes()["Volumes"]
    }
    assert found[root]["NfsExports"] == [export]
    assert found[volume.physical_id]["VolumePath"] == "/fsx/home"
    changed = deployer.update(
        "AWS::FSx::Volume",
        volume,
        {"Name": "home", "OpenZFSConfiguration": home},
        {"Name": "home", "OpenZFSConfiguration": home | {"StorageCapacityQuotaGiB": 200}},
    )
    assert changed.physical_id == volume.physical_id
    found = deployer.client("fsx").describe_volumes(VolumeIds=[volume.physical_id])["Volumes"][0]
    assert found["OpenZFSConfiguration"]["StorageCapacityQuotaGiB"] == 200
    deployer.delete("AWS::FSx::Volume", changed)
    assert [one["VolumeId"] for one in deployer.client("fsx").describe_volumes()["Volumes"]] == [root]


def test_a_data_repository_is_recorded_and_checked(deployer: Deployer, network: Network) -> None:
    kind = "AWS::FSx::DataRepositoryAssociation"
    system = deployer.create(TYPE, **network.lustre()).physical_id
    requested = {"FileSystemId": system, "FileSystemPath": "/data", "DataRepositoryPath": "s3://my-data/set"}
    with pytest.raises(ResourceFailed, match="the bucket of s3://my-data/set does not exist"):
        deployer.create(kind, **requested)
    deployer.create("AWS::S3::Bucket", BucketName="my-data")
    events = {"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}}
    created = deployer.create(kind, **requested, S3=events)
    assert created.level is Level.RECORDED
    associations = deployer.client("fsx").describe_data_repository_associations()["Associations"]
    assert [(one["FileSystemPath"], one["S3"]) for one in associations] == [("/data", events)]
    with pytest.raises(ResourceFailed, match="overlaps /data/"):
        deployer.create(kind, **(requested | {"FileSystemPath": "/data/more"}))
    with pytest.raises(ResourceFailed, match="'SOMETIMES' is not one of"):
        deployer.create(kind, **requested, S3={"AutoImportPolicy": {"Events": ["SOMETIMES"]}})
    assert deployer.provider.exists(kind, created.physical_id)
    deployer.delete(kind, created, **requested)
    assert not deployer.client("fsx").describe_data_repository_associations()["Associations"]


def test_ids_are_as_long_as_fsxs(deployer: Deployer, network: Network) -> None:
    assert re.fullmatch(r"fs-[0-9a-f]{17}", deployer.create(TYPE, **network.lustre()).physical_id)
