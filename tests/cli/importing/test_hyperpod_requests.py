"""Requests become valid fleet files, with notes about fixed, chosen and left out values."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.importing.importer import import_request
from llm_fleet.cli.main import main
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import parse_fleet
from tests.cli.importing.imports import CONTROLLER, DATA, FSX, PLACED, VPC, WORKERS, failure, imported

LAUNCH_POST = DATA / "launch-post-cluster.json"


def alone(groups: list[Any]) -> Any:
    return groups


def in_object(groups: list[Any]) -> Any:
    return {"InstanceGroups": groups}


IN_OREGON = {"region": "us-west-2"}


def fleet_of(tmp_path: Path, request: Any, **options: Any) -> Fleet:
    return parse_fleet(imported(tmp_path, request, **IN_OREGON | options).text)


@pytest.mark.parametrize(
    ("file", "made", "options"),
    [
        (LAUNCH_POST, "launch-post-cluster.yaml", {"zones": ("usw2-az4",)}),
        (DATA / "parallelcluster-talk.yaml", "parallelcluster-talk.fleet.yaml", {"region": "us-east-1"}),
    ],
)
def test_published_files_give_the_golden_fleet_files(file: Path, made: str, options: dict[str, Any]) -> None:
    result = import_request(file, **options)
    notes = "".join(f"{note}\n" for note in result.notes)
    for kept, text in ((DATA / made, result.text), (DATA / f"{file.stem}.notes", notes)):
        if os.environ.get("UPDATE_GOLDEN"):
            kept.write_text(text)
        assert kept.read_text() == text


def test_launch_post_keeps_names_counts_and_threads() -> None:
    (cluster,) = parse_fleet(import_request(LAUNCH_POST, region="us-west-2").text).hyperpod_clusters.values()
    assert [
        (group.name, group.node_type.lower(), group.instance_type, group.count, group.threads_per_core)
        for group in cluster.groups
    ] == [
        ("controller-group", "controller", "ml.m5.xlarge", 1, 1),
        ("worker-group", "compute", "ml.trn1.32xlarge", 4, 1),
    ]
    assert {group.on_init_complete for group in cluster.running_groups} == {"on_init_complete.sh"}


@pytest.mark.parametrize("form", [alone, in_object])
def test_a_list_an_object_and_a_whole_request_give_the_same_file(tmp_path: Path, form: Any) -> None:
    groups = [CONTROLLER, WORKERS]
    whole = fleet_of(tmp_path, {"ClusterName": "my-request", "InstanceGroups": groups})
    assert fleet_of(tmp_path, form(groups)) == whole


def test_a_whole_request_is_converted(tmp_path: Path) -> None:
    mounts = [{"FsxLustreConfig": {**FSX, "MountPath": "/data"}}, {"FsxOpenZfsConfig": {"DnsName": FSX["DnsName"]}}]
    rolling = {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": {"Type": "CAPACITY_PERCENTAGE", "Value": 25},
            "RollbackMaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 2},
        },
        "WaitIntervalInSeconds": 60,
        "AutoRollbackConfiguration": [{"AlarmName": "an-alarm"}],
    }
    request: dict[str, Any] = {
        "ClusterName": "Train-1",
        "VpcConfig": VPC,
        "NodeRecovery": "None",
        "NodeProvisioningMode": "Continuous",
        "Orchestrator": {
            "Slurm": {
                "AccountingDatabase": {
                    "Endpoint": "db.example.com",
                    "SecretArn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:s-AbCdEf",
                    "Port": 3307,
                    "Name": "acct",
                }
            }
        },
        "Tags": [{"Key": "team", "Value": "42"}],
        "InstanceGroups": [
            {**CONTROLLER, "SlurmConfig": {"NodeType": "Controller"}, "InstanceStorageConfigs": mounts},
            {
                "InstanceGroupName": "w",
                "InstanceRequirements": {"InstanceTypes": ["ml.g6.12xlarge", "ml.g5.12xlarge"]},
                "InstanceCount": 3,
                "MinInstanceCount": 1,
                "SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["gpu"]},
                "CapacityRequirements": {"Spot": {}},
                "ImageId": "ami-0123456789abcdef0",
                "NetworkInterface": {"InterfaceType": "efa"},
                "OnStartDeepHealthChecks": ["InstanceStress", "MultiNodeTrainingValidation"],
                "ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 3 ? * SUN *)", "DeploymentConfig": rolling},
                "AutoPatchConfig": {"PatchingStrategy": "WhenIdle"},
                "OverrideVpcConfig": VPC,
                "InstanceStorageConfigs": [
                    {"EbsVolumeConfig": {"VolumeSizeInGB": 500}},
                    {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "1234abcd"}},
                ],
                "ExecutionRole": "arn:aws:iam::111122223333:role/r",
            },
        ],
    }
    fleet = fleet_of(tmp_path, request, **PLACED)
    cluster = fleet.hyperpod_clusters["Train-1"]
    group = cluster.by_name["w"]
    assert fleet.name == "train-1"
    assert fleet.network is not None
    assert fleet.network.vpc is not None
    assert fleet.network.vpc.subnets == {"usw2-az4": "subnet-0123456789abcdef0"}
    assert fleet.network.vpc.security_group_id == "sg-0123456789abcdef0"
    assert fleet.storage.fsx is not None
    assert fleet.storage.fsx.existing is not None
    assert fleet.storage.fsx.existing.file_system_id == "fs-0123456789abcdef0"
    assert fleet.storage.fsx.existing.mount_name == "abcd1234"
    assert fleet.storage.fsx.mount_path == "/data"
    assert fleet.storage.home is not None
    assert (cluster.node_recovery, dict(cluster.tags)) == ("None", {"team": "42"})
    assert cluster.accounting_database is not None
    assert (cluster.accounting_database.port, cluster.accounting_database.database_name) == (3307, "acct")
    assert group.instance_types == ("ml.g6.12xlarge", "ml.g5.12xlarge")
    assert (group.count, group.min_count, group.partition, group.spot) == (3, 1, "gpu", True)
    assert (group.mount_lustre, group.mount_open_zfs) == (False, False)
    assert (group.image_id, group.network_interface) == ("ami-0123456789abcdef0", "efa")
    assert group.deep_health_checks == ("InstanceStress",)
    assert group.scheduled_update is not None
    assert group.scheduled_update.deployment is not None
    assert group.scheduled_update.deployment.maximum_batch_size is not None
    assert group.scheduled_update.deployment.maximum_batch_size.value == 25
    assert group.scheduled_update.deployment.wait_interval_seconds == 60
    assert group.scheduled_update.deployment.alarm_names == ("an-alarm",)
    assert group.auto_patch is not None
    assert group.subnets == ("subnet-0123456789abcdef0",)
    assert group.ebs_volume_gib == 500
    assert group.root_volume_key == "arn:aws:kms:us-west-2:111122223333:key/1234abcd"


def test_the_users_scripts_keep_their_bucket_and_their_hook(tmp_path: Path) -> None:
    config = {"SourceS3Uri": "s3://sagemaker-mine/scripts/v1/", "OnCreate": "setup.sh"}
    result = imported(tmp_path, [{**CONTROLLER, "LifeCycleConfig": config}, WORKERS], **IN_OREGON)
    cluster = parse_fleet(result.text).hyperpod_clusters["my-request"]
    assert (cluster.scripts.bucket, cluster.scripts.prefix) == ("sagemaker-mine", "scripts/v1")
    assert cluster.by_name["controller"].on_create == "setup.sh"
    assert cluster.by_name["controller"].on_init_complete is None
    assert cluster.by_name["workers"].on_create is None
    assert any("keeps OnCreate" in note.text for note in result.notes)


def test_scripts_that_nodes_cannot_read_are_reported_as_left_out(tmp_path: Path) -> None:
    config = {"SourceS3Uri": "s3://mine/scripts/", "OnCreate": "setup.sh"}
    result = imported(tmp_path, [{**CONTROLLER, "LifeCycleConfig": config}], **IN_OREGON)
    assert any(note.kind == "left out" and "s3://mine/scripts/" in note.text for note in result.notes)


def test_a_slurm_config_strategy_excludes_continuous_provisioning(tmp_path: Path) -> None:
    request = {"InstanceGroups": [CONTROLLER], "Orchestrator": {"Slurm": {"SlurmConfigStrategy": "Managed"}}}
    cluster = fleet_of(tmp_path, request).hyperpod_clusters["my-request"]
    assert (cluster.node_provisioning_mode, cluster.slurm_config_strategy) == (None, "Managed")


def test_a_single_group_is_a_request(tmp_path: Path) -> None:
    assert list(fleet_of(tmp_path, CONTROLLER).hyperpod_clusters["my-request"].by_name) == ["controller"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "AWSTemplateFormatVersion: '2010-09-09'\nResources: {Cluster: {Type: 'AWS::SageMaker::Cluster'}}\n",
            "template",
        ),
        ("Resources:\n  Cluster:\n    Type: AWS::SageMaker::Cluster\n    Name: !Ref Name\n", "CloudFormation template"),
        ('{"Resources": {"Cluster": {"Type": "AWS::SageMaker::Cluster"}}}', "CloudFormation template"),
        ('{"version": "1.0.0", "worker_groups": [{"instance_group_name": "w"}]}', "provisioning_parameters.json"),
    ],
)
def test_other_files_are_recognized(tmp_path: Path, text: str, said: str) -> None:
    (problem,) = failure(tmp_path, text, **IN_OREGON).problems
    assert problem.code.value == "LF151"
    assert said in problem.message


def test_the_name_is_from_the_option_else_the_request_else_a_short_file_name(tmp_path: Path) -> None:
    def names(stem: str, request: Any, name: str | None = None) -> list[str]:
        path = tmp_path / f"{stem}.json"
        path.write_text(json.dumps(request))
        result = import_request(path, region="us-west-2", name=name)
        said = [note.text for note in result.notes if "the cluster's name is" in note.text or "of --name" in note.text]
        assert bool(said) is ("ClusterName" not in request or name is not None)
        return list(parse_fleet(result.text).hyperpod_clusters)

    written = {"ClusterName": "written", "InstanceGroups": [CONTROLLER]}
    assert names("short", written, "given") == ["given"]
    assert names("short", written) == ["written"]
    assert names("short", [CONTROLLER]) == ["short"]
    assert names("x" * 31, [CONTROLLER]) == ["cluster"]


@pytest.mark.parametrize(
    ("request_", "exit_code"),
    [
        ([CONTROLLER], 0),
        ([{**CONTROLLER, "instance_count": 1}], 4),
        ([{**CONTROLLER, "TreadsPerCore": 1}], 4),
        ([{"instance_group_name": "controller", "InstanceType": "ml.m5.xlarge", "InstanceCount": "1"}], 0),
        ([{**CONTROLLER, "InstanceType": "ml.m5.xlrage"}], 1),
    ],
)
def test_unknown_keys_have_their_own_exit_code(
    tmp_path: Path, request_: Any, exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request_))
    out = tmp_path / "fleet.yaml"
    assert main(["import", str(path), "--region", "us-west-2", "--name", "train", "-o", str(out)]) == exit_code
    assert ("not understood: " in capsys.readouterr().err) is (exit_code == 4)
    assert out.exists() is (exit_code != 1)


def test_numbers_as_text_are_fixed(tmp_path: Path) -> None:
    result = imported(tmp_path, [{**CONTROLLER, "InstanceCount": "1"}], **IN_OREGON)
    assert parse_fleet(result.text).hyperpod_clusters["my-request"].by_name["controller"].count == 1
    assert "fixed: InstanceGroups[0].InstanceCount is converted to the number 1" in map(str, result.notes)


def test_spellings_of_keys_are_fixed(tmp_path: Path) -> None:
    groups = [{"instance_group_name": "controller", "instanceType": "ml.m5.xlarge", "INSTANCECOUNT": 1}]
    assert (
        fleet_of(tmp_path, {"instance-groups": groups}).hyperpod_clusters["my-request"].by_name["controller"].count == 1
    )


@pytest.mark.parametrize(
    ("names", "types", "controller"),
    [
        (["head", "nodes"], ["ml.m5.xlarge", "ml.c5.large"], "head"),
        (["one", "two"], ["ml.m5.xlarge", "ml.trn1.32xlarge"], "one"),
        (["trn1", "mgmt"], ["ml.trn1.32xlarge", "ml.m5.xlarge"], "mgmt"),
        (["login", "a", "workers"], ["ml.m5.large", "ml.m5.large", "ml.c5.large"], "a"),
    ],
)
def test_the_controller_is_found_by_names_and_types(
    tmp_path: Path, names: list[str], types: list[str], controller: str
) -> None:
    groups = [
        {"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": 1}
        for name, kind in zip(names, types, strict=True)
    ]
    result = imported(tmp_path, groups, **IN_OREGON)
    roles = {
        group.name: group.node_type.lower() for group in parse_fleet(result.text).hyperpod_clusters["my-request"].groups
    }
    assert [name for name, role in roles.items() if role == "controller"] == [controller]
    assert any(controller in note.text and "controller" in note.text for note in result.notes)


@pytest.mark.parametrize("names", [["a", "b"], ["controller-1", "head"]])
def test_ambiguous_roles_are_rejected(tmp_path: Path, names: list[str]) -> None:
    groups = [{"InstanceGroupName": name, "InstanceType": "ml.m5.large", "InstanceCount": 1} for name in names]
    (problem,) = failure(tmp_path, groups, **IN_OREGON).problems
    assert problem.code.value == "LF153"
    assert '"NodeType": "Controller"' in problem.remedy


def test_the_region_is_from_the_first_known_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = "arn:aws:sagemaker:eu-west-1:111122223333:training-plan/p"
    with_plan = [CONTROLLER, {**WORKERS, "TrainingPlanArn": plan}]
    assert fleet_of(tmp_path, with_plan, region=None).region == "eu-west-1"
    assert fleet_of(tmp_path, [CONTROLLER], region=None, zones=("usw2-az4",)).region == "us-west-2"
    (problem,) = failure(tmp_path, [CONTROLLER]).problems
    assert problem.code.value == "LF154"
    assert "--region" in problem.remedy
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert fleet_of(tmp_path, [CONTROLLER], region=None).region == "eu-north-1"


def test_an_existing_network_requires_options(tmp_path: Path) -> None:
    (problem,) = failure(tmp_path, {"InstanceGroups": [CONTROLLER], "VpcConfig": VPC}, **IN_OREGON).problems
    assert problem.where == "VpcConfig"
    assert "--vpc" in problem.remedy
    assert "subnet-0123456789abcdef0" in problem.remedy


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("{", "LF150"),
        ("", "LF150"),
        ('{"a": 1, "a": 2}', "LF151"),
        ("3", "LF151"),
        ("[" * 100_000, "LF151"),
        ('{"InstanceGroups": [{"InstanceCount": ' + "9" * 5000 + "}]}", "LF151"),
        ('{"ClusterName": "\\ud800"}', "LF151"),
        ({}, "LF151"),
        ([], "LF151"),
        ({"InstanceGroups": {}}, "LF151"),
        ({"InstanceGroups": [3]}, "LF151"),
        ([{"InstanceType": "ml.m5.large", "InstanceCount": 1}], "LF151"),
        ([CONTROLLER, CONTROLLER], "LF151"),
        ([{**CONTROLLER, "InstanceCount": "many"}], "LF151"),
        ({"InstanceGroups": [CONTROLLER], "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:x"}}}, "LF152"),
        ([{**CONTROLLER, "InstanceType": "ml.m5.xlrage"}], "LF507"),
        ([CONTROLLER, {**WORKERS, "InstanceType": "ml.inf2.xlarge"}], "LF506"),
        ([CONTROLLER, {**WORKERS, "InstanceCount": -1}], "LF518"),
    ],
)
def test_a_file_without_a_request_is_rejected(tmp_path: Path, request_: Any, code: str) -> None:
    assert code in {problem.code.value for problem in failure(tmp_path, request_, **IN_OREGON).problems}
