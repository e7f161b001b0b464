"""Links between directories of a Lustre file system and S3."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet import DataRepository, LustreBackups, LustreDeploymentType, LustreSpec
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.storage.buckets import DataBucket
from llm_fleet.storage.lustre import LustreFileSystem


@pytest.fixture
def fsx(stack: cdk.Stack, network: FleetNetwork) -> LustreFileSystem:
    return LustreFileSystem(stack, "Fsx", network=network)


def of_type(stack: cdk.Stack, type: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in Template.from_stack(stack).find_resources(type).values()]


def test_a_link_to_a_bucket(stack: cdk.Stack, fsx: LustreFileSystem):
    bucket = s3.Bucket.from_bucket_name(stack, "Corpus", "corpus")
    fsx.add_data_repository(
        "Link", DataRepository(s3=bucket, prefix="/en/", file_system_path="/corpus", auto_export=("NEW", "CHANGED"))
    )
    (link,) = of_type(stack, "AWS::FSx::DataRepositoryAssociation")
    assert link == {
        "FileSystemId": {"Ref": stack.get_logical_id(fsx.resource)},
        "FileSystemPath": "/corpus",
        "DataRepositoryPath": "s3://corpus/en/",
        "BatchImportMetaDataOnCreate": True,
        "S3": {
            "AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]},
            "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
        },
    }


def test_a_link_to_a_path_that_follows_nothing(stack: cdk.Stack, fsx: LustreFileSystem):
    fsx.add_data_repository(
        "Link", DataRepository(s3="s3://corpus", file_system_path="/", auto_import=(), import_existing=False)
    )
    (link,) = of_type(stack, "AWS::FSx::DataRepositoryAssociation")
    assert link["DataRepositoryPath"] == "s3://corpus"
    assert link["BatchImportMetaDataOnCreate"] is False
    assert link.get("S3", {}) == {}


def test_a_link_switches_the_default_backups_off(stack: cdk.Stack, fsx: LustreFileSystem):
    fsx.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    (file_system,) = of_type(stack, "AWS::FSx::FileSystem")
    configuration = file_system["LustreConfiguration"]
    assert configuration["AutomaticBackupRetentionDays"] == 0
    assert "CopyTagsToBackups" not in configuration


def test_a_link_leaves_a_file_system_without_backups_as_it_is(stack: cdk.Stack, network: FleetNetwork):
    scratch = LustreFileSystem(
        stack, "Scratch", LustreSpec(deployment_type=LustreDeploymentType.SCRATCH_2), network=network
    )
    scratch.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    (file_system,) = of_type(stack, "AWS::FSx::FileSystem")
    assert "AutomaticBackupRetentionDays" not in file_system["LustreConfiguration"]


def test_backups_that_were_asked_for_exclude_a_link(stack: cdk.Stack, network: FleetNetwork):
    fsx = LustreFileSystem(stack, "Fsx", LustreSpec(backups=LustreBackups(retention_days=7)), network=network)
    with pytest.raises(FleetError) as caught:
        fsx.add_data_repository("Link", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    (problem,) = caught.value.problems
    assert problem.code == Code.FILE_SYSTEM_BACKUP
    assert fsx.node.try_find_child("Link") is None


def test_later_links_are_judged_beside_earlier_ones(stack: cdk.Stack, fsx: LustreFileSystem):
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
    assert len(of_type(stack, "AWS::FSx::DataRepositoryAssociation")) == 3


def test_a_link_needs_its_bucket_or_path(stack: cdk.Stack, fsx: LustreFileSystem):
    given: dict[str, Any] = {"file_system_path": "/corpus"}
    with pytest.raises(FleetError) as missing:
        DataRepository(**given)
    with pytest.raises(FleetError) as wrong:
        DataRepository(**given, s3=fsx)  # pyright: ignore[reportArgumentType]
    assert [error.value.problems[0].where for error in (missing, wrong)] == ["s3", "s3"]
    assert wrong.value.problems[0].remedy == "give a bucket of the CDK, or its s3:// address"
    no_repository: Any = "s3://corpus"
    with pytest.raises(FleetError) as no_link:
        fsx.add_data_repository("Link", no_repository)
    assert no_link.value.problems[0].path == ("repository",)


def test_fsx_may_use_the_key_of_the_bucket_through_s3_only(stack: cdk.Stack, fsx: LustreFileSystem):
    bucket = DataBucket(stack, "Corpus")
    fsx.add_data_repository("Link", DataRepository(s3=bucket, file_system_path="/corpus"))
    (key,) = of_type(stack, "AWS::KMS::Key")
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
