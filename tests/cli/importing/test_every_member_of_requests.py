"""Every member of the API is converted, or reported as left out: an import never drops one silently."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import botocore.session
from botocore.utils import ArgumentGenerator

from llm_fleet.catalog.data_file import load
from tests.cli.importing import imports
from tests.cli.importing.imports import CONTROLLER, VPC, WORKERS


def shape_of(shape: Any) -> Any:
    if shape.type_name == "structure":
        return {name: shape_of(member) for name, member in shape.members.items()}
    if shape.type_name == "list":
        return [shape_of(shape.member)]
    if shape.type_name == "map":
        return {"*": shape_of(shape.value)}
    return shape.type_name


def test_the_shape_of_a_request_is_that_of_botocore() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    assert load("create_cluster_request") == shape_of(model.operation_model("CreateCluster").input_shape)


REQUEST: dict[str, Any] = {
    "ClusterName": "c",
    "InstanceGroups": [CONTROLLER, WORKERS],
}
FSX = imports.FSX | {"MountPath": "/data"}
OF_A_GROUP: dict[str, Any] = {
    "MinInstanceCount": 2,
    "InstanceRequirements": {"InstanceTypes": ["ml.trn1.32xlarge"]},
    "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-b/p", "OnInitComplete": "x.sh"},
    "ExecutionRole": "arn:aws:iam::111122223333:role/r",
    "ThreadsPerCore": 1,
    "InstanceStorageConfigs": [{"FsxLustreConfig": FSX}],
    "OnStartDeepHealthChecks": ["InstanceStress"],
    "TrainingPlanArn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
    "OverrideVpcConfig": VPC,
    "ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 3 ? * SUN *)"},
    "ImageId": "ami-0123456789abcdef0",
    "AutoPatchConfig": {"PatchingStrategy": "WhenIdle"},
    "ImageReleaseVersion": "1.2.3",
    "KubernetesConfig": {"Labels": {"a": "b"}},
    "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["p"]},
    "CapacityRequirements": {"Spot": {}},
    "NetworkInterface": {"InterfaceType": "efa"},
}
OF_A_CLUSTER: dict[str, Any] = {
    "RestrictedInstanceGroups": [{"InstanceGroupName": "r"}],
    "RestrictedInstanceGroupsConfig": {"SharedEnvironmentConfig": {"FSxLustreDeletionPolicy": "Keep"}},
    "VpcConfig": VPC,
    "Tags": [{"Key": "a", "Value": "b"}],
    "Orchestrator": {"Slurm": {"SlurmConfigStrategy": "Merge"}},
    "NodeRecovery": "None",
    "TieredStorageConfig": {"Mode": "Enable"},
    "NodeProvisioningMode": "Continuous",
    "ClusterRole": "arn:aws:iam::111122223333:role/r",
    "AutoScaling": {"Mode": "Enable"},
}


def outcome(tmp_path: Path, request: dict[str, Any]) -> str:
    return imports.outcome(tmp_path, request, region="us-west-2", **imports.PLACED)


def with_worker(member: str, value: Any) -> dict[str, Any]:
    return {**REQUEST, "InstanceGroups": [CONTROLLER, {**WORKERS, member: value}]}


def test_every_member_of_a_group_is_converted_or_reported(tmp_path: Path) -> None:
    (shape,) = load("create_cluster_request")["InstanceGroups"]
    assert set(OF_A_GROUP) == set(shape) - set(REQUEST["InstanceGroups"][1])
    plain = outcome(tmp_path, REQUEST)
    for member, value in OF_A_GROUP.items():
        assert outcome(tmp_path, with_worker(member, value)) != plain, member


def test_every_member_of_a_cluster_is_converted_or_reported(tmp_path: Path) -> None:
    assert set(OF_A_CLUSTER) == set(load("create_cluster_request")) - set(REQUEST)
    plain = outcome(tmp_path, REQUEST)
    for member, value in OF_A_CLUSTER.items():
        assert outcome(tmp_path, {**REQUEST, member: value}) != plain, member


def test_unknown_members_are_reported_with_the_nearest_one(tmp_path: Path) -> None:
    reported = outcome(tmp_path, with_worker("TreadsPerCore", 1))
    assert (
        "not understood: InstanceGroups[1].TreadsPerCore: unknown key in the API; did you mean ThreadsPerCore?"
        in reported
    )


def test_unknown_nested_members_are_reported(tmp_path: Path) -> None:
    patch = {
        "PatchingStrategy": "WhenIdle",
        "IdleWaitWindowInSeconds": 7200,
        "DrainPolicy": {"OnDrainTimeout": "Skip"},
        "PatchSchedule": {"NextPatchDate": "2026-12-01T00:00:00Z"},
    }
    reported = outcome(tmp_path, with_worker("AutoPatchConfig", patch))
    for member in set(patch) - {"PatchingStrategy"}:
        assert f"left out: AutoPatchConfig.{member} of workers" in reported


def blank_skeleton() -> dict[str, Any]:
    """Return the output of `--generate-cli-skeleton`, from the function of the CLI."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model("CreateCluster").input_shape
    assert shape is not None
    skeleton = ArgumentGenerator().generate_skeleton(shape)
    return json.loads(json.dumps(skeleton, default=datetime.isoformat))


def filled_skeleton() -> dict[str, Any]:
    """Return the CLI's skeleton with a few values of a user."""
    skeleton = blank_skeleton()
    (group,) = skeleton["InstanceGroups"]
    del group["InstanceRequirements"], group["OnStartDeepHealthChecks"], group["AutoPatchConfig"]
    del group["ScheduledUpdateConfig"], group["CapacityRequirements"], group["NetworkInterface"]
    del skeleton["RestrictedInstanceGroups"], skeleton["RestrictedInstanceGroupsConfig"]
    del skeleton["AutoScaling"], skeleton["TieredStorageConfig"]
    group |= {"InstanceGroupName": "main", "InstanceType": "ml.m5.xlarge", "InstanceCount": 1}
    group["SlurmConfig"] = {"NodeType": "Controller", "PartitionNames": [""]}
    group["MinInstanceCount"] = 1
    skeleton["NodeRecovery"] = "Automatic"
    skeleton["Orchestrator"]["Slurm"]["SlurmConfigStrategy"] = ""
    return {**skeleton, "ClusterName": "from-skeleton"}


def test_blank_fields_of_the_skeleton_are_ignored(tmp_path: Path) -> None:
    result = imports.imported(tmp_path, filled_skeleton(), region="us-west-2")
    assert "from-skeleton:" in result.text
    assert '""' not in result.text
    assert any("fields without a value" in note.text for note in result.notes)


def test_an_unchanged_skeleton_is_rejected(tmp_path: Path) -> None:
    assert "InstanceGroupName" in str(imports.failure(tmp_path, blank_skeleton(), region="us-west-2"))
