"""Studio's domain, user profiles and scripts: returned as requested, updated in place, deleted only in order."""

import base64
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ReplacementNeeded, ResourceFailed
from tests.local.aws.resources.support import ACCOUNT, Deployer, Network, trust

DOMAIN, PROFILE, SCRIPT = (f"AWS::SageMaker::{kind}" for kind in ("Domain", "UserProfile", "StudioLifecycleConfig"))
ROLE = f"arn:aws:iam::{ACCOUNT}:role/people"
START: dict[str, Any] = {
    "StudioLifecycleConfigName": "start",
    "StudioLifecycleConfigAppType": "JupyterLab",
    "StudioLifecycleConfigContent": base64.b64encode(b"#!/bin/bash\n").decode(),
    "Tags": [{"Key": "kind", "Value": "script"}],
}


class Studio:
    """The dependencies of a domain, and its properties."""

    def __init__(self, deployer: Deployer) -> None:
        self.network = Network(deployer)
        deployer.create("AWS::IAM::Role", RoleName="people", AssumeRolePolicyDocument=trust("sagemaker.amazonaws.com"))
        self.script = deployer.create(SCRIPT, **START)
        lustre = deployer.create("AWS::FSx::FileSystem", **self.network.lustre())
        arn = self.script.attributes["StudioLifecycleConfigArn"]
        self.settings: dict[str, Any] = {
            "ExecutionRole": ROLE,
            "SecurityGroups": [self.network.group],
            "StudioWebPortal": "ENABLED",
            "DefaultLandingUri": "studio::",
            "JupyterLabAppSettings": {"LifecycleConfigArns": [arn], "DefaultResourceSpec": {"LifecycleConfigArn": arn}},
            "CustomFileSystemConfigs": [
                {"FSxLustreFileSystemConfig": {"FileSystemId": lustre.physical_id, "FileSystemPath": "/"}}
            ],
        }
        self.properties: dict[str, Any] = {
            "DomainName": "lab",
            "AuthMode": "IAM",
            "AppNetworkAccessType": "VpcOnly",
            "VpcId": self.network.vpc,
            "SubnetIds": [self.network.subnet],
            "HomeEfsFileSystemCreation": "Disabled",
            "TagPropagation": "ENABLED",
            "DomainSettings": {"ExecutionRoleIdentityConfig": "USER_PROFILE_NAME"},
            "DefaultUserSettings": self.settings,
            "Tags": [{"Key": "kind", "Value": "studio"}],
        }

    def having(self, **settings: Any) -> dict[str, Any]:
        return self.properties | {"DefaultUserSettings": {**self.settings, **settings}}


@pytest.fixture
def studio(deployer: Deployer) -> Studio:
    return Studio(deployer)


def test_a_domain_is_reported_changed_and_deleted(deployer: Deployer, studio: Studio) -> None:
    client = deployer.client("sagemaker")
    domain = deployer.create(DOMAIN, **studio.properties)
    reported = client.describe_domain(DomainId=domain.physical_id)
    for name, value in studio.properties.items():
        assert name == "Tags" or reported[name] == value, name
    assert (reported["Status"], reported["DomainArn"]) == ("InService", domain.attributes["DomainArn"])
    assert "HomeEfsFileSystemId" not in reported
    tags = client.list_tags(ResourceArn=reported["DomainArn"])["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"fleet": "test", "kind": "studio"}

    changed = studio.having(
        SpaceStorageSettings={
            "DefaultEbsStorageSettings": {"DefaultEbsVolumeSizeInGb": 20, "MaximumEbsVolumeSizeInGb": 100}
        }
    )
    assert deployer.update(DOMAIN, domain, studio.properties, changed).physical_id == domain.physical_id
    settings = client.describe_domain(DomainId=domain.physical_id)["DefaultUserSettings"]
    assert settings["SpaceStorageSettings"]["DefaultEbsStorageSettings"]["MaximumEbsVolumeSizeInGb"] == 100
    with pytest.raises(ReplacementNeeded):
        deployer.update(DOMAIN, domain, changed, changed | {"DomainName": "other"})

    with pytest.raises(ResourceFailed, match="is used by d-"):
        deployer.delete(SCRIPT, studio.script)
    deployer.delete(DOMAIN, domain)
    assert client.list_domains()["Domains"] == []
    deployer.delete(SCRIPT, studio.script)
    assert not deployer.provider.exists(SCRIPT, studio.script.physical_id)


def test_user_profiles_are_created_and_deleted_with_their_domain(deployer: Deployer, studio: Studio) -> None:
    client = deployer.client("sagemaker")
    domain = deployer.create(DOMAIN, **studio.properties)
    requested: dict[str, Any] = {
        "DomainId": domain.physical_id,
        "UserProfileName": "alice",
        "UserSettings": {"ExecutionRole": ROLE, "CustomPosixUserConfig": {"Uid": "10001", "Gid": "10001"}},
    }
    alice = deployer.create(PROFILE, **requested)
    assert alice.physical_id == f"alice|{domain.physical_id}"
    reported = client.describe_user_profile(DomainId=domain.physical_id, UserProfileName="alice")
    assert reported["UserSettings"] == {"ExecutionRole": ROLE, "CustomPosixUserConfig": {"Uid": 10001, "Gid": 10001}}
    now = requested | {"UserSettings": {"CustomPosixUserConfig": {"Uid": 10002, "Gid": 10002}}}
    deployer.update(PROFILE, alice, requested, now)
    reported = client.describe_user_profile(DomainId=domain.physical_id, UserProfileName="alice")
    assert reported["UserSettings"]["CustomPosixUserConfig"]["Uid"] == 10002
    with pytest.raises(ResourceFailed, match="already exists"):
        deployer.create(PROFILE, **requested | {"UserProfileName": "ALICE"})
    with pytest.raises(ResourceFailed, match=r"because UserProfile.* alice"):
        deployer.delete(DOMAIN, domain)
    found = client.list_user_profiles(DomainIdEquals=domain.physical_id)["UserProfiles"]
    assert [one["UserProfileName"] for one in found] == ["alice"]
    deployer.delete(PROFILE, alice)
    deployer.delete(DOMAIN, domain)
    with pytest.raises(ResourceFailed, match="does not exist"):
        deployer.create(PROFILE, **requested)


@pytest.mark.parametrize(
    ("user", "reported"),
    [
        ({"SingleSignOnUserIdentifier": "UserName", "SingleSignOnUserValue": "a"}, "cannot be specified"),
        ({"UserSettings": {"ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/missing"}}, "does not exist"),
        ({"UserSettings": {"CustomPosixUserConfig": {"Uid": 1000, "Gid": 1001}}}, "10000"),
    ],
    ids=["identity with IAM", "no role", "uid"],
)
def test_user_profiles_that_are_rejected(
    deployer: Deployer, studio: Studio, user: dict[str, Any], reported: str
) -> None:
    domain = deployer.create(DOMAIN, **studio.properties)
    with pytest.raises(ResourceFailed, match=reported):
        deployer.create(PROFILE, DomainId=domain.physical_id, UserProfileName="bob", **user)


def test_what_the_service_rejects_of_a_domain(deployer: Deployer, studio: Studio) -> None:
    arn = studio.script.attributes["StudioLifecycleConfigArn"]
    elsewhere = deployer.create("AWS::EC2::VPC", CidrBlock="10.9.0.0/16").physical_id
    far = deployer.create("AWS::EC2::Subnet", VpcId=studio.network.vpc, CidrBlock="10.0.32.0/24").physical_id
    missing = {"FSxLustreFileSystemConfig": {"FileSystemId": "fs-0123456789abcdef0"}}
    for properties, reported in (
        (studio.having(SecurityGroups=[]), "SecurityGroups .* are required"),
        (studio.having(SecurityGroups=["sg-0123456789abcdef0"]), "does not exist"),
        (studio.having(ExecutionRole=f"arn:aws:iam::{ACCOUNT}:role/missing"), "does not exist"),
        (studio.having(CustomFileSystemConfigs=[missing]), "the file system fs-0123456789abcdef0 does not exist"),
        (studio.having(CodeEditorAppSettings={"LifecycleConfigArns": [arn]}), "for CodeEditor"),
        (studio.having(StudioWebPortal="DISABLED"), "requires StudioWebPortal"),
        (studio.properties | {"VpcId": elsewhere}, f"is not in {elsewhere}"),
        (studio.properties | {"SubnetIds": [far]}, "none of the domain's subnets"),
    ):
        with pytest.raises(ResourceFailed, match=reported):
            deployer.create(DOMAIN, **properties)
    deployer.create(DOMAIN, **studio.properties)
    with pytest.raises(ResourceFailed, match="already exists"):
        deployer.create(DOMAIN, **studio.properties)


def test_home_directories_remain_after_their_domain_and_block_the_subnet(deployer: Deployer, studio: Studio) -> None:
    domain = deployer.create(DOMAIN, **studio.properties | {"HomeEfsFileSystemCreation": "Enabled"})
    home = domain.attributes["HomeEfsFileSystemId"]
    deployer.delete(DOMAIN, domain)
    found = deployer.client("ec2").describe_network_interfaces(
        Filters=[{"Name": "subnet-id", "Values": [studio.network.subnet]}]
    )["NetworkInterfaces"]
    assert f"EFS mount target for {home}" in {one["Description"] for one in found}
