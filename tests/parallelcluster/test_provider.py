"""AWS's provider: its version, and permissions in addition to its own policies."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    Accounting,
    ExistingLustre,
    HeadNode,
    LustreFileSystem,
    ParallelCluster,
    ParallelClusterVersion,
    SharedStorage,
    SlurmSettings,
)
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.parallelcluster.provider import provider_permissions
from tests.parallelcluster.conftest import Make

PLACE = Place(partition="aws", region="us-west-2", account="111122223333")
KEY = "arn:aws:kms:us-west-2:111122223333:key/0123abcd-0000-4000-8000-000000000000"


def allowed(configuration: dict[str, Any], **additional: Any) -> dict[str, Permission]:
    found = provider_permissions(configuration, PLACE, bundle=None, **additional)
    assert all(permission.reason for permission in found)
    return {permission.sid: permission for permission in found}


def provider(stack: cdk.Stack) -> dict[str, Any]:
    (nested,) = Template.from_stack(stack).find_resources("AWS::CloudFormation::Stack").values()
    return nested["Properties"]


def policy(stack: cdk.Stack) -> dict[str, Any]:
    """The statements of the provider's policy, by their ids."""
    named = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    (found,) = [body for body in named if str(body["Properties"].get("ManagedPolicyName", "")).endswith("-provider")]
    statements = found["Properties"]["PolicyDocument"]["Statement"]
    return {statement["Sid"]: statement for statement in statements}


def test_the_template_url_has_the_version_and_region(stack: cdk.Stack, make: Make):
    make(version=ParallelClusterVersion.V3_16_3)
    url = provider(stack)["TemplateURL"]["Fn::Join"][1]
    assert url == [
        "https://us-west-2-aws-parallelcluster.s3.us-west-2.",
        {"Ref": "AWS::URLSuffix"},
        "/parallelcluster/3.16.3/templates/custom_resource/cluster.yaml",
    ]


def test_each_cluster_has_its_own_provider(stack: cdk.Stack, make: Make):
    make("One", cluster_name="one")
    make("Two", cluster_name="two")
    template = Template.from_stack(stack)
    clusters = template.find_resources("Custom::PclusterCluster").values()
    providers = {str(cluster["Properties"]["ServiceToken"]) for cluster in clusters}
    assert (len(providers), len(template.find_resources("AWS::CloudFormation::Stack"))) == (2, 2)


def test_a_provider_without_additional_permissions_has_no_parameters(stack: cdk.Stack, make: Make):
    make(scripts=None)
    assert "Parameters" not in provider(stack)


def test_the_provider_can_read_only_the_scripts_of_this_cluster(stack: cdk.Stack, make: Make):
    cluster = make()
    assert list(policy(stack)) == ["Scripts"]
    statement = policy(stack)["Scripts"]
    assert statement["Action"] == "s3:GetObject"
    assert statement["Resource"]["Fn::Join"][1][-1] == f"/bundles/train/{cluster.cluster_name}/*"


def test_unused_features_have_no_permissions():
    assert allowed({"HeadNode": {"InstanceType": "m5.large"}, "SharedStorage": []}) == {}


def test_existing_file_systems_can_be_described():
    for settings in (
        {"StorageType": "FsxLustre", "FsxLustreSettings": {"FileSystemId": "fs-1"}},
        {"StorageType": "FsxOpenZfs", "FsxOpenZfsSettings": {"VolumeId": "fsvol-1"}},
    ):
        found = allowed({"SharedStorage": [settings]})
        assert list(found) == ["ExistingFsx"]
        assert all(action.startswith("fsx:Describe") for action in found["ExistingFsx"].actions)
    managed = {"StorageType": "FsxLustre", "FsxLustreSettings": {"StorageCapacity": 1200}}
    other = {"StorageType": "Efs", "EfsSettings": {"FileSystemId": "fs-1"}}
    assert allowed({"SharedStorage": [managed, other]}) == {}, "the provider may do that by itself"


def test_buckets_linked_to_a_file_system_of_parallelcluster():
    associations = [{"Name": "a", "DataRepositoryPath": "s3://corpus/in"}, {"DataRepositoryPath": "s3://corpus/out"}]
    settings = {"StorageCapacity": 1200, "DataRepositoryAssociations": associations}
    found = allowed({"SharedStorage": [{"StorageType": "FsxLustre", "FsxLustreSettings": settings}]})
    assert list(found) == ["LinkedBuckets", "LinkedBucketsRole"]
    assert found["LinkedBuckets"].resources == ("arn:aws:s3:::corpus", "arn:aws:s3:::corpus/*")


@pytest.mark.parametrize(
    ("written", "resource"),
    [(KEY, KEY), ("0123abcd", "arn:aws:kms:us-west-2:111122223333:key/0123abcd")],
)
def test_keys_of_storage_by_arn_and_id(written: str, resource: str):
    found = allowed({"SharedStorage": [{"StorageType": "Ebs", "EbsSettings": {"KmsKeyId": written}}]})
    assert set(found) == {"StorageKeys", "StorageKeysGrants"}
    assert {permission.resources for permission in found.values()} == {(resource,)}
    assert found["StorageKeysGrants"].conditions == {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def test_key_of_storage_by_its_alias():
    found = allowed({"SharedStorage": [{"StorageType": "Ebs", "EbsSettings": {"KmsKeyId": "alias/data"}}]})
    assert set(found) == {"StorageKeyAliases", "StorageKeyAliasesGrants"}
    for permission in found.values():
        assert permission.conditions["ForAnyValue:StringEquals"] == {"kms:ResourceAliases": ["alias/data"]}


def test_custom_scripts_and_files_can_be_read():
    actions = {"OnNodeStart": {"Sequence": [{"Script": "s3://mine/start.sh"}, {"Script": "https://example.com/a.sh"}]}}
    slurm = {"CustomSlurmSettingsIncludeFile": "s3://mine/slurm.conf"}
    found = allowed({"HeadNode": {"CustomActions": actions}, "Scheduling": {"SlurmSettings": slurm}})
    assert found["OwnScripts"].resources == ("arn:aws:s3:::mine/start.sh", "arn:aws:s3:::mine/slurm.conf")


@pytest.mark.parametrize(
    ("arn", "action"),
    [
        ("arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-abcdef", "secretsmanager:DescribeSecret"),
        ("arn:aws:ssm:us-west-2:111122223333:parameter/reader", "ssm:GetParameter"),
    ],
)
def test_the_password_of_a_directory_can_be_read(arn: str, action: str):
    found = allowed({"DirectoryService": {"PasswordSecretArn": arn}})
    assert (found["DirectoryPassword"].actions, found["DirectoryPassword"].resources) == ((action,), (arn,))


def test_a_permissions_boundary_is_passed_on(stack: cdk.Stack, make: Make):
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "research")
    cluster = make(permissions_boundary=boundary, iam_resource_prefix="/parallelcluster/research/")
    assert cluster.configuration["Iam"]["ResourcePrefix"] == "/parallelcluster/research/"
    assert "policy/research" in str(stack.resolve(cluster.configuration["Iam"]["PermissionsBoundary"]))
    assert policy(stack)["Boundary"]["Resource"] == "arn:aws:iam::111122223333:role/parallelcluster/*"


def test_the_munge_key_of_accounting_can_be_read(stack: cdk.Stack, make: Make):
    arn = "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-abcdef"
    munge = secretsmanager.Secret.from_secret_complete_arn(stack, "Munge", arn)
    make(accounting=Accounting(slurmdbd_host="slurmdbd.example.com", munge_key_secret=munge))
    assert policy(stack)["MungeKey"]["Action"] == "secretsmanager:GetSecretValue"
    assert policy(stack)["MungeKey"]["Resource"] == arn


def test_permissions_follow_from_the_configuration_of_the_cluster(stack: cdk.Stack, make: Make):
    lustre = LustreFileSystem.from_attributes(
        stack, "Fsx", ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh")
    )
    make(
        lustre=lustre,
        shared_storage=[SharedStorage.managed_ebs("apps", mount_dir="/apps", size_gib=50, settings={"KmsKeyId": KEY})],
        slurm=SlurmSettings(custom_settings_file="s3://mine/slurm.conf"),
    )
    assert set(policy(stack)) == {"Scripts", "OwnScripts", "ExistingFsx", "StorageKeys", "StorageKeysGrants"}


def test_the_provider_can_attach_all_policies_of_the_cluster(stack: cdk.Stack, make: Make):
    """The policies' names are all that its IAM statement accepts; see `DefaultParallelClusterIamAdminPolicy`."""
    cluster: ParallelCluster = make(head_node=HeadNode(instance_type="m5.2xlarge"))
    text = str(stack.resolve(dict(cluster.configuration)))
    named = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy")
    attached = [name for name in named if name in text]
    assert len(attached) == 2
    for name in attached:
        assert named[name]["Properties"]["ManagedPolicyName"].startswith("parallelcluster-us-west-2-train-")
