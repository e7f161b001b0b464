"""The oracle runs ParallelCluster's own validators; the request sets which AWS resources exist."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet_local.parallelcluster.account_context import AccountContext
from llm_fleet_local.parallelcluster.answers import Finding
from llm_fleet_local.parallelcluster.client import Oracle
from tests.local.parallelcluster.configurations import with_change, working

QUEUE = "Scheduling/SlurmQueues/0"
RESOURCE = f"{QUEUE}/ComputeResources/0"
RESERVATION = {"CapacityReservationId": "cr-0123456789abcdef0"}
SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:database-AbCdEf"


def errors(findings: list[Finding]) -> list[str]:
    return [str(finding) for finding in findings if finding.level == "ERROR"]


def capacity_block(min_count: int = 4) -> dict[str, Any]:
    block = {
        "InstanceType": "p5.48xlarge",
        "MinCount": min_count,
        "MaxCount": 4,
        "Name": "p5",
        "Efa": {"Enabled": True},
    }
    changed = with_change(working(), f"{QUEUE}/CapacityType", "CAPACITY_BLOCK")
    changed = with_change(changed, f"{QUEUE}/Networking/PlacementGroup", {"Enabled": False})
    changed = with_change(changed, RESOURCE, block)
    return with_change(changed, f"{QUEUE}/CapacityReservationTarget", RESERVATION)


def everything() -> dict[str, Any]:
    """Return a configuration that names a resource of each kind."""
    changed = working()
    changed["Scheduling"]["SlurmSettings"]["Database"] = {
        "Uri": {
            "Fn::Join": ["", [{"Fn::GetAtt": ["Db", "Endpoint.Address"]}, ":", {"Fn::GetAtt": ["Db", "Endpoint.Port"]}]]
        },
        "UserName": "slurm",
        "PasswordSecretArn": SECRET,
    }
    changed["HeadNode"]["Ssh"] = {"KeyName": "ours"}
    changed["HeadNode"]["Image"] = {"CustomAmi": "ami-0123456789abcdef0"}
    changed["HeadNode"]["Networking"]["AdditionalSecurityGroups"] = [{"Ref": "Group"}]
    changed["HeadNode"]["Iam"]["S3Access"] = [{"BucketName": "weights", "KeyName": "read_only/*"}]
    changed["Scheduling"]["SlurmQueues"][0]["Networking"]["AdditionalSecurityGroups"] = [{"Ref": "Group"}]
    changed["Scheduling"]["SlurmQueues"][0]["Networking"]["PlacementGroup"] = {"Enabled": True, "Name": "ours"}
    policies = [{"Policy": {"Ref": "Policy"}}]
    changed["Scheduling"]["SlurmQueues"][0]["Iam"] = {"AdditionalIamPolicies": policies}
    changed["LoginNodes"] = {
        "Pools": [
            {
                "Name": "login",
                "InstanceType": "c5.large",
                "Count": 2,
                "Networking": {"SubnetIds": [{"Ref": "Private"}]},
                "Iam": {"AdditionalIamPolicies": policies},
            }
        ]
    }
    zfs = {"Name": "home", "MountDir": "/shared_home", "StorageType": "FsxOpenZfs"}
    efs = {"Name": "apps", "MountDir": "/apps", "StorageType": "Efs", "EfsSettings": {"FileSystemId": {"Ref": "Efs"}}}
    ebs = {"Name": "ebs", "MountDir": "/ebs", "StorageType": "Ebs", "EbsSettings": {"VolumeId": {"Ref": "Volume"}}}
    made = {"Name": "made", "MountDir": "/made", "StorageType": "Ebs", "EbsSettings": {"KmsKeyId": {"Ref": "Key"}}}
    changed["SharedStorage"] += [zfs | {"FsxOpenZfsSettings": {"VolumeId": {"Ref": "Home"}}}, efs, ebs, made]
    return changed


def file_cache() -> dict[str, Any]:
    cache = {"Name": "cache", "MountDir": "/cache", "StorageType": "FileCache"}
    return with_change(working(), "SharedStorage/0", cache | {"FileCacheSettings": {"FileCacheId": {"Ref": "Cache"}}})


def launch_template() -> dict[str, Any]:
    overrides = {"LaunchTemplateId": {"Ref": "Template"}, "Version": 1}
    return with_change(working(), f"{RESOURCE}/LaunchTemplateOverrides", overrides)


def test_a_working_configuration_passes(oracle: Oracle) -> None:
    assert errors(oracle.validate(working())) == []


@pytest.mark.parametrize("make", [everything, capacity_block, file_cache, launch_template])
def test_resources_in_a_configuration_exist(oracle: Oracle, make: Callable[[], dict[str, Any]]) -> None:
    assert errors(oracle.validate(make())) == []


def test_a_configuration_with_strings_from_cloudformation_passes(oracle: Oracle) -> None:
    """CloudFormation passes numbers and booleans to a custom resource as strings."""

    def texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: texts(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list):
            return [texts(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return str(value).lower() if isinstance(value, bool | int) else value

    assert errors(oracle.validate(texts(working()))) == []


@pytest.mark.parametrize(
    ("path", "value", "validator"),
    [
        (f"{QUEUE}/Name", "x" * 26, "NameValidator"),
        (f"{RESOURCE}/InstanceType", "trn1.2xlarge", "EfaValidator"),
        (f"{QUEUE}/Networking", {"SubnetIds": [{"Ref": "Private"}]}, "EfaPlacementGroupValidator"),
        ("HeadNode/InstanceType", "c6g.2xlarge", "InstanceArchitectureCompatibilityValidator"),
        ("HeadNode/InstanceType", "t3.nano", "HeadNodeMemorySizeValidator"),
        ("Scheduling/SlurmSettings/CustomSlurmSettings", [{"GresTypes": "gpu"}], "CustomSlurmSettingsValidator"),
        ("SharedStorage/0/MountDir", "/opt/slurm", "SharedStorageMountDirValidator"),
        ("SharedStorage/0/FsxLustreSettings", {"StorageCapacity": 5000}, "FsxStorageCapacityValidator"),
        (f"{RESOURCE}/InstanceType", "x9.large", "ConfigValidationError"),
    ],
)
def test_its_validators_reject(oracle: Oracle, path: str, value: Any, validator: str) -> None:
    found = oracle.validate(with_change(working(), path, value))
    assert validator in {finding.validator for finding in found if finding.level == "ERROR"}, errors(found)


def test_a_capacity_block_without_static_nodes_is_rejected(oracle: Oracle) -> None:
    assert any("Capacity Block" in error for error in errors(oracle.validate(capacity_block(min_count=0))))


def test_what_the_schema_rejects_is_not_validated(oracle: Oracle) -> None:
    (finding,) = oracle.validate(with_change(working(), "Image/Os", "alinux2"))
    assert (finding.validator, finding.level) == ("ClusterSchema", "ERROR")
    assert finding.message.startswith("Image/Os: Must be one of")


@pytest.mark.parametrize(
    ("around", "says"),
    [
        (AccountContext(missing=["ours"]), "KeyPairValidator"),
        (AccountContext(missing=[SECRET]), "PasswordSecretArnValidator"),
        (AccountContext(images={"ami-0123456789abcdef0": {"os": "ubuntu2204"}}), "AmiOsCompatibleValidator"),
        (
            AccountContext(images={"ami-0123456789abcdef0": {"architecture": "arm64"}}),
            "InstanceTypeBaseAMICompatibleValidator",
        ),
        (AccountContext(images={"ami-0123456789abcdef0": {"version": "3.15.0"}}), "CustomAmiTagValidator"),
    ],
)
def test_the_account_context_is_applied(oracle: Oracle, around: AccountContext, says: str) -> None:
    found = oracle.validate(everything(), around=around)
    assert any(says in error for error in errors(found)), errors(found)


def test_a_missing_script_is_only_a_warning(oracle: Oracle) -> None:
    found = oracle.validate(working(), around=AccountContext(missing=["s3://scripts/entry.sh"]))
    assert ("WARNING", "UrlValidator") in {
        (finding.level, finding.validator.removeprefix("AsyncTimed")) for finding in found
    }


def test_a_policy_of_aws_must_exist(oracle: Oracle) -> None:
    changed = with_change(
        working(), "HeadNode/Iam/AdditionalIamPolicies/0/Policy", "arn:aws:iam::aws:policy/NoSuchPolicy"
    )
    assert [finding.validator for finding in oracle.validate(changed) if finding.level == "ERROR"] == [
        "AdditionalIamPolicyValidator"
    ]


def test_a_reservation_has_the_instance_type_of_the_context(oracle: Oracle) -> None:
    around = AccountContext(reservations={RESERVATION["CapacityReservationId"]: {"InstanceType": "p5en.48xlarge"}})
    assert any(
        "must have the same instance type" in error
        for error in errors(oracle.validate(capacity_block(), around=around))
    )


def test_a_single_validator(oracle: Oracle) -> None:
    (finding,) = oracle.execute("NameValidator", name="Queue_1")
    assert (finding.validator, finding.level) == ("NameValidator", "ERROR")
    assert oracle.execute("NameValidator", name="queue-1") == []


def test_a_request_does_not_affect_the_next_one(oracle: Oracle) -> None:
    oracle.validate(everything(), around=AccountContext(missing=[SECRET, "ours"]))
    assert errors(oracle.validate(everything())) == []


def test_a_reservation_without_a_type_is_read_also_after_a_validation(oracle: Oracle) -> None:
    oracle.validate(working())
    resource = {"Name": "p5", "MinCount": 4, "MaxCount": 4, "CapacityReservationTarget": RESERVATION}
    changed = with_change(capacity_block(), RESOURCE, resource)
    assert oracle.schema(changed) == []
    assert errors(oracle.validate(changed)) == []


def test_official_images_are_recognized(oracle: Oracle) -> None:
    changed = with_change(
        working(), RESOURCE, {"Name": "old", "InstanceType": "p3dn.24xlarge", "Efa": {"Enabled": True}}
    )
    assert any("OpenRM" in error for error in errors(oracle.validate(changed)))
