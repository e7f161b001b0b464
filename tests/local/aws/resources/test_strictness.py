"""Unknown, invalid and missing values fail and are named in the error; no given value is dropped."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ReplacementNeeded, ResourceFailed
from llm_fleet_local.aws.resources.catalog_provider import CatalogProvider
from llm_fleet_local.aws.resources.schemas import schema_of
from llm_fleet_local.aws.resources.spec import TypeSpec, type_specs
from tests.local.aws.resources.support import Deployer


def test_an_unknown_type_is_reported(provider: CatalogProvider, deployer: Deployer) -> None:
    assert provider.check("AWS::EC2::Vpc", {}) == ["AWS::EC2::Vpc: the AWS emulator does not support the resource type"]
    with pytest.raises(ResourceFailed, match="AWS::EC2::Vpc: the AWS emulator does not support"):
        deployer.create("AWS::EC2::Vpc")


@pytest.mark.parametrize(
    ("resource_type", "properties", "problem"),
    [
        ("AWS::EC2::VPC", {"CidrBlok": "10.0.0.0/16"}, "unknown property CidrBlok"),
        ("AWS::EC2::Subnet", {"CidrBlock": {"Ref": "X"}}, "property VpcId is required"),
        (
            "AWS::FSx::FileSystem",
            {"FileSystemType": "LUSTRE", "SubnetIds": [], "LustreConfiguration": {"Efa": True}},
            "unknown property LustreConfiguration.Efa",
        ),
        (
            "AWS::SageMaker::Cluster",
            {"InstanceGroups": [{"InstanceGroupName": {"Ref": "N"}, "ExecutionRole": "r", "InstanceCont": 1}]},
            "unknown property InstanceGroups[0].InstanceCont",
        ),
        ("AWS::CloudFormation::CustomResource", {"Key": "v"}, "property ServiceToken is required"),
        ("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16", "VpcId": {"Ref": "X"}}, "VpcId is read-only"),
    ],
)
def test_names_are_checked_before_anything_is_created(
    provider: CatalogProvider, resource_type: str, properties: dict[str, Any], problem: str
) -> None:
    assert f"{resource_type}: {problem}" in provider.check(resource_type, properties)


def test_intrinsic_functions_are_not_checked(provider: CatalogProvider) -> None:
    properties = {
        "FileSystemType": {"Ref": "Kind"},
        "SubnetIds": {"Fn::Split": [",", "a,b"]},
        "LustreConfiguration": {"Fn::If": ["Fast", {"DeploymentType": "PERSISTENT_2"}, {"Ref": "AWS::NoValue"}]},
    }
    assert provider.check("AWS::FSx::FileSystem", properties) == []


@pytest.mark.parametrize(
    ("resource_type", "properties", "message"),
    [
        ("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16", "Color": "red"}, "unknown property Color"),
        ("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": "perhaps"}, "EnableDnsSupport"),
        ("AWS::EC2::VPC", {"CidrBlock": "10.0.0.0/16", "VpcId": "vpc-1"}, "VpcId is read-only"),
        ("AWS::Logs::LogGroup", {"RetentionInDays": 8}, "8 is not one of"),
        ("AWS::KMS::Key", {"PendingWindowInDays": 5}, "5 is less than the minimum of 7"),
        ("AWS::S3::Bucket", {"BucketName": "Upper_Case"}, "BucketName.*does not match"),
        ("AWS::S3::Bucket", {"VersioningConfiguration": {"Status": "On"}}, "'On' is not one of"),
        ("AWS::IAM::Role", {"Path": "/"}, "'AssumeRolePolicyDocument' is a required property"),
        ("AWS::SSM::Parameter", {"Type": "String", "Value": 5, "Tier": "Huge"}, "'Huge' is not one of"),
        (
            "AWS::IAM::Role",
            {
                "AssumeRolePolicyDocument": {},
                "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSageMakerClusterRole"],
            },
            "AmazonSageMakerClusterRole does not exist",
        ),
    ],
)
def test_invalid_values_are_reported(
    deployer: Deployer, resource_type: str, properties: dict[str, Any], message: str
) -> None:
    with pytest.raises(ResourceFailed, match=message):
        deployer.create(resource_type, **properties)


def test_unsupported_properties_are_rejected_not_dropped(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="AWS::S3::Bucket: the AWS emulator does not support WebsiteConfiguration"):
        deployer.create("AWS::S3::Bucket", WebsiteConfiguration={"IndexDocument": "index.html"})


def test_a_failed_creation_leaves_nothing_behind(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="does not exist"):
        deployer.create(
            "AWS::IAM::Role",
            RoleName="Half",
            AssumeRolePolicyDocument={},
            ManagedPolicyArns=["arn:aws:iam::aws:policy/NoSuchPolicy"],
        )
    assert "Half" not in [role["RoleName"] for role in deployer.client("iam").list_roles()["Roles"]]


def test_an_existing_managed_policy_is_found(deployer: Deployer) -> None:
    arn = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
    deployer.create("AWS::IAM::Role", RoleName="Node", AssumeRolePolicyDocument={}, ManagedPolicyArns=[arn])
    attached = deployer.client("iam").list_attached_role_policies(RoleName="Node")["AttachedPolicies"]
    assert [one["PolicyArn"] for one in attached] == [arn]


def test_a_change_of_create_only_properties_replaces_the_resource(deployer: Deployer) -> None:
    created = deployer.create("AWS::EC2::VPC", CidrBlock="10.0.0.0/16")
    with pytest.raises(ReplacementNeeded, match="CidrBlock"):
        deployer.update("AWS::EC2::VPC", created, {"CidrBlock": "10.0.0.0/16"}, {"CidrBlock": "10.2.0.0/16"})


@pytest.mark.parametrize("spec", type_specs().values(), ids=lambda spec: spec.type)
def test_tables_name_only_what_the_schema_has(spec: TypeSpec) -> None:
    schema = schema_of(spec.type)
    assert schema is not None
    properties = set(schema["properties"])
    assert spec.covered <= properties
    assert {path.split(".")[0] for path in spec.replace} <= properties
    assert not spec.name or spec.name.property in properties
    readable = properties | {"Id"}
    assert {name.split(".")[0] for name in spec.attributes} <= readable


@pytest.mark.parametrize("spec", type_specs().values(), ids=lambda spec: spec.type)
def test_tables_call_only_what_botocore_has(spec: TypeSpec, provider: CatalogProvider) -> None:
    settings = [call for one in spec.settings for call in (*one.calls, one.reset, one.undo) if call]
    tags = [spec.tags.put, spec.tags.remove] if spec.tags else []
    reads = [spec.read.call, *(one.call for _, one in spec.read.also)] if spec.read else []
    for call in (*spec.create, *spec.delete, *settings, *tags, *reads, *([spec.update] if spec.update else [])):
        members = provider.services.input_shape(call.service or spec.service, call.call).members
        assert set(call.params) <= set(members), call.call
