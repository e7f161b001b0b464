"""FSx for Lustre: its resources and its data repositories."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match

from llm_fleet import (
    DataRepository,
    LustreBackups,
    LustreDeploymentType,
    LustreSpec,
    LustreStorageType,
    LustreThroughput,
)
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.storage.buckets import DataBucket
from llm_fleet.storage.lustre import LustreFileSystem
from tests.conftest import ENVIRONMENT
from tests.made_networks import SUBNETS, existing_network
from tests.storage.conftest import all_of, only
from tools.synth_environment import cdk_context


def properties(stack: cdk.Stack) -> dict[str, Any]:
    """Return the properties of the only file system in `stack`."""
    return only(stack, "AWS::FSx::FileSystem")


def rejected(stack: cdk.Stack, network: Network, **settings: Any) -> FleetError:
    """Return the error for these settings, which must be raised before any resource is created."""
    before = len(stack.node.find_all())
    with pytest.raises(FleetError) as caught:
        LustreFileSystem(stack, "Fsx", LustreSpec(**settings), network=network)
    assert len(stack.node.find_all()) == before
    return caught.value


def test_defaults_of_a_file_system(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    assert fsx.availability_zone_id == "usw2-az4"
    assert not fsx.efa_enabled
    made = properties(stack)
    assert made["SubnetIds"] == [SUBNETS["usw2-az4"]]
    assert made["SecurityGroupIds"] == [stack.resolve(fsx.security_group.security_group_id)]
    assert made["Tags"] == [{"Key": "Name", "Value": "Test/Fsx"}]
    assert {
        name: made[name] for name in ("FileSystemType", "FileSystemTypeVersion", "StorageCapacity", "StorageType")
    } == {
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": "2.15",
        "StorageCapacity": 1200,
        "StorageType": "SSD",
    }
    assert made["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
        "EfaEnabled": False,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
        "AutomaticBackupRetentionDays": 7,
        "LogConfiguration": {"Level": "WARN_ERROR"},
    }


SETTINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"storage_capacity_gib": 4800, "throughput": LustreThroughput(per_tib=1000)},
        {"EfaEnabled": True, "MetadataConfiguration": {"Mode": "AUTOMATIC"}},
    ),
    ({"metadata_iops": 24000}, {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 24000}}),
    ({"version": "2.12"}, {"MetadataConfiguration": None, "EfaEnabled": False}),
    (
        {"deployment_type": LustreDeploymentType.SCRATCH_2, "storage_capacity_gib": 2400},
        {
            "PerUnitStorageThroughput": None,
            "AutomaticBackupRetentionDays": None,
            "CopyTagsToBackups": None,
            "EfaEnabled": None,
            "MetadataConfiguration": None,
        },
    ),
    ({"deployment_type": LustreDeploymentType.SCRATCH_1}, {"LogConfiguration": None}),
    (
        {"deployment_type": LustreDeploymentType.PERSISTENT_1, "storage_type": LustreStorageType.HDD},
        {"DriveCacheType": "READ", "PerUnitStorageThroughput": 40},
    ),
    (
        {"deployment_type": LustreDeploymentType.PERSISTENT_1, "storage_type": LustreStorageType.SSD},
        {"DriveCacheType": None, "PerUnitStorageThroughput": 200},
    ),
    (
        {"storage_type": LustreStorageType.INTELLIGENT_TIERING},
        {
            "ThroughputCapacity": 4000,
            "PerUnitStorageThroughput": None,
            "DataReadCacheConfiguration": {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
            "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
            "EfaEnabled": True,
        },
    ),
    (
        {
            "storage_type": LustreStorageType.INTELLIGENT_TIERING,
            "read_cache_gib": 1000,
            "throughput": LustreThroughput(whole=8000),
        },
        {"DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 1000}},
    ),
    (
        {"backups": LustreBackups(retention_days=0, start_time="05:00"), "maintenance_start_time": "7:03:00"},
        {
            "AutomaticBackupRetentionDays": 0,
            "DailyAutomaticBackupStartTime": None,
            "WeeklyMaintenanceStartTime": "7:03:00",
        },
    ),
    (
        {"backups": LustreBackups(retention_days=30, start_time="05:00", copy_tags=True)},
        {
            "AutomaticBackupRetentionDays": 30,
            "DailyAutomaticBackupStartTime": "05:00",
            "CopyTagsToBackups": True,
        },
    ),
    (
        {"compression": "NONE", "log_level": "DISABLED"},
        {"DataCompressionType": "NONE", "LogConfiguration": {"Level": "DISABLED"}},
    ),
]
"""Settings, and the expected values of the Lustre configuration; `None`: missing."""
ELASTIC = {"storage_type": LustreStorageType.INTELLIGENT_TIERING}
KEY = "arn:aws:kms:us-west-2:111122223333:key/abc"
OUTSIDE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (ELASTIC, {"StorageCapacity": None}),
    ({"availability_zone_id": "usw2-az1"}, {"SubnetIds": [SUBNETS["usw2-az1"]]}),
    ({"encryption_key": KEY}, {"KmsKeyId": KEY}),
]
"""Settings, and the expected values outside of the Lustre configuration."""


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The properties of a file system for each of the settings, in one stack."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("settings")))
    stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
    network = existing_network(stack)
    made = [
        LustreFileSystem(stack, f"Fsx{n}", LustreSpec(**settings), network=network).resource
        for n, (settings, _) in enumerate([*SETTINGS, *OUTSIDE])
    ]
    found = all_of(stack, "AWS::FSx::FileSystem")
    return [found[stack.get_logical_id(resource)]["Properties"] for resource in made]


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_settings_of_the_lustre_configuration(synthesized: list[dict[str, Any]], number: int):
    configuration, expected = synthesized[number]["LustreConfiguration"], SETTINGS[number][1]
    assert {name: configuration.get(name) for name in expected} == expected


def test_settings_outside_of_the_lustre_configuration(synthesized: list[dict[str, Any]]):
    for made, (_, expected) in zip(synthesized[len(SETTINGS) :], OUTSIDE, strict=True):
        assert {name: made.get(name) for name in expected} == expected


def test_names_are_attributes_of_the_resource(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", network=network)
    logical_id = stack.get_logical_id(fsx.resource)
    assert stack.resolve([fsx.file_system_id, fsx.dns_name, fsx.mount_name]) == [
        {"Ref": logical_id},
        {"Fn::GetAtt": [logical_id, "DNSName"]},
        {"Fn::GetAtt": [logical_id, "LustreMountName"]},
    ]


def test_a_custom_log_group(stack: cdk.Stack, network: Network):
    group = logs.LogGroup(stack, "Events", log_group_name="/aws/fsx/fleet")
    LustreFileSystem(stack, "Fsx", LustreSpec(log_group=group, log_level="ERROR_ONLY"), network=network)
    configuration = properties(stack)["LustreConfiguration"]["LogConfiguration"]
    assert configuration["Level"] == "ERROR_ONLY"
    arn = "".join(
        part if isinstance(part, str) else part["Ref"] for part in configuration["Destination"]["Fn::Join"][1]
    )
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)
    assert arn == f"arn:aws:logs:us-west-2:111122223333:log-group:{stack.get_logical_id(resource)}"


def test_log_groups_that_fsx_rejects(stack: cdk.Stack, network: Network):
    unnamed = logs.LogGroup(stack, "Unnamed")
    elsewhere = logs.LogGroup(stack, "Elsewhere", log_group_name="/fleet")
    imported = logs.LogGroup.from_log_group_name(stack, "Imported", "/fleet")
    remedies = ["use the name /aws/fsx/lustre-events", "use the name /aws/fsx/fleet", "use the name /aws/fsx/fleet"]
    for group, remedy in zip((unnamed, elsewhere, imported), remedies, strict=True):
        (problem,) = rejected(stack, network, log_group=group).problems
        assert (problem.code, problem.path, problem.remedy) == (Code.FILE_SYSTEM_LOG, ("log_group",), remedy)
    fine = logs.LogGroup.from_log_group_name(stack, "Fine", "/aws/fsx/fine")
    (problem,) = rejected(stack, network, log_group=fine, log_level="DISABLED").problems
    assert problem.remedy == "remove one of the two"


def test_all_problems_are_reported_together(stack: cdk.Stack, network: Network):
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:us-west-2:111122223333:key/abc")
    error = rejected(
        stack,
        network,
        deployment_type=LustreDeploymentType.SCRATCH_2,
        storage_capacity_gib=1300,
        throughput=LustreThroughput(per_tib=200),
        efa_enabled=True,
        encryption_key=key,
        maintenance_start_time="Sunday",
        log_group="/fleet",
    )
    assert {problem.code for problem in error.problems} == {
        Code.LUSTRE_CAPACITY,
        Code.LUSTRE_THROUGHPUT,
        Code.LUSTRE_EFA,
        Code.FILE_SYSTEM_KEY,
        Code.FILE_SYSTEM_TIME,
        Code.FILE_SYSTEM_LOG,
    }
    assert error.subject == "Test/Fsx"


def test_an_az_without_a_compute_subnet_is_reported(stack: cdk.Stack, network: Network):
    error = rejected(stack, network, availability_zone_id="usw2-az3")
    assert "usw2-az3" in str(error)


def test_a_capacity_that_is_a_token(stack: cdk.Stack, network: Network):
    size = cdk.CfnParameter(stack, "Size", type="Number")
    LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=size.value_as_number), network=network)  # pyright: ignore[reportArgumentType]
    made = properties(stack)
    assert made["StorageCapacity"] == {"Ref": "Size"}
    assert made["LustreConfiguration"]["EfaEnabled"] is False


def test_its_servers_require_addresses_of_the_compute_subnet(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Small", NetworkSpec(availability_zone_ids=["usw2-az4"], cidr="10.0.0.0/24", compute_cidr="10.1.0.0/27")
    )
    error = rejected(stack, network, storage_capacity_gib=48000, efa_enabled=False)
    (problem,) = error.problems
    assert "FSx for Lustre" in str(problem)
    assert problem.path[0] == "network"


def test_a_region_with_uncertain_support_causes_a_warning(app: cdk.App):
    stack = cdk.Stack(app, "SaoPaulo", env=cdk.Environment(account="111122223333", region="sa-east-1"))
    LustreFileSystem(
        stack, "Fsx", network=FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["sae1-az1"]))
    )
    Annotations.from_stack(stack).has_warning("/SaoPaulo/Fsx", Match.string_like_regexp("PERSISTENT_2 in sa-east-1"))


def test_other_regions_cause_no_warning(stack: cdk.Stack, network: Network):
    LustreFileSystem(stack, "Fsx", network=network)
    Annotations.from_stack(stack).has_no_warning("*", Match.any_value())


@pytest.fixture
def fsx(stack: cdk.Stack, network: Network) -> LustreFileSystem:
    return LustreFileSystem(stack, "Fsx", network=network)


LINK = "AWS::FSx::DataRepositoryAssociation"


def test_a_link_to_a_bucket(stack: cdk.Stack, fsx: LustreFileSystem):
    bucket = s3.Bucket.from_bucket_name(stack, "Corpus", "corpus")
    fsx.add_data_repository(
        "Link", DataRepository(s3=bucket, prefix="/en/", file_system_path="/corpus", auto_export=("NEW", "CHANGED"))
    )
    assert only(stack, LINK) == {
        "FileSystemId": {"Ref": stack.get_logical_id(fsx.resource)},
        "FileSystemPath": "/corpus",
        "DataRepositoryPath": "s3://corpus/en/",
        "BatchImportMetaDataOnCreate": True,
        "S3": {
            "AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]},
            "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
        },
    }


def test_a_link_without_import_and_export_events(stack: cdk.Stack, fsx: LustreFileSystem):
    fsx.add_data_repository(
        "Link", DataRepository(s3="s3://corpus", file_system_path="/", auto_import=(), import_existing=False)
    )
    link = only(stack, LINK)
    assert link["DataRepositoryPath"] == "s3://corpus"
    assert link["BatchImportMetaDataOnCreate"] is False
    assert link.get("S3", {}) == {}


def test_a_link_disables_the_default_backups(stack: cdk.Stack, fsx: LustreFileSystem):
    fsx.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    configuration = properties(stack)["LustreConfiguration"]
    assert configuration["AutomaticBackupRetentionDays"] == 0
    assert "CopyTagsToBackups" not in configuration


def test_a_link_does_not_change_a_file_system_without_backups(stack: cdk.Stack, network: Network):
    scratch = LustreFileSystem(
        stack, "Scratch", LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2), network=network
    )
    scratch.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    assert "AutomaticBackupRetentionDays" not in properties(stack)["LustreConfiguration"]


def test_explicit_backups_exclude_a_link(stack: cdk.Stack, network: Network):
    fsx = LustreFileSystem(stack, "Fsx", LustreSpec(backups=LustreBackups(retention_days=7)), network=network)
    with pytest.raises(FleetError) as caught:
        fsx.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    (problem,) = caught.value.problems
    assert problem.code == Code.FILE_SYSTEM_BACKUP
    assert fsx.node.try_find_child("Link") is None


def test_later_links_are_checked_together_with_earlier_ones(stack: cdk.Stack, fsx: LustreFileSystem):
    bucket = DataBucket(stack, "Corpus")
    fsx.add_data_repository("Books", DataRepository(s3=bucket, prefix="books/", file_system_path="/books"))
    fsx.add_data_repository("Code", DataRepository(s3=bucket, prefix="code/", file_system_path="/code"))
    with pytest.raises(FleetError) as caught:
        fsx.add_data_repository("All", DataRepository(s3=bucket, file_system_path="/books/all"))
    assert [problem.where for problem in caught.value.problems] == [
        "data_repositories[2].file_system_path",
        "data_repositories[2].s3",
        "data_repositories[2].s3",
    ]
    fsx.add_data_repository("Web", DataRepository(s3="s3://web", file_system_path="/web"))
    assert len(all_of(stack, LINK)) == 3


def test_a_link_requires_a_bucket_or_an_s3_path(stack: cdk.Stack, fsx: LustreFileSystem):
    given: dict[str, Any] = {"file_system_path": "/corpus"}
    with pytest.raises(FleetError) as missing:
        DataRepository(**given)
    with pytest.raises(FleetError) as wrong:
        DataRepository(**given, s3=fsx)  # pyright: ignore[reportArgumentType]
    assert [error.value.problems[0].where for error in (missing, wrong)] == ["s3", "s3"]
    assert wrong.value.problems[0].remedy == "give a bucket of the CDK, or its s3:// URI"
    no_repository: Any = "s3://corpus"
    with pytest.raises(FleetError) as no_link:
        fsx.add_data_repository("Link", no_repository)
    assert no_link.value.problems[0].path == ("repository",)


def test_fsx_can_use_the_key_of_the_bucket_only_through_s3(stack: cdk.Stack, fsx: LustreFileSystem):
    bucket = DataBucket(stack, "Corpus")
    fsx.add_data_repository("Link", DataRepository(s3=bucket, file_system_path="/corpus"))
    key = only(stack, "AWS::KMS::Key")
    (statement,) = [s for s in key["KeyPolicy"]["Statement"] if s.get("Sid", "").startswith("LustreLink")]
    assert statement["Principal"] == {"AWS": "*"}
    assert statement["Effect"] == "Allow"
    assert sorted(statement["Action"]) == [
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey*",
        "kms:ReEncrypt*",
    ]
    assert statement["Condition"]["ArnLike"]["aws:PrincipalArn"] == (
        "arn:aws:iam::111122223333:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/"
        "AWSServiceRoleForFSxS3Access_fs-*"
    )
    account_and_service = statement["Condition"]["StringEquals"]
    assert account_and_service["kms:CallerAccount"] == "111122223333"
    assert account_and_service["kms:ViaService"]["Fn::Join"][1][0] == "s3.us-west-2."
