"""The training runtime of a HyperPod cluster: the node manifest, and permissions of the role."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet import (
    ContainerEnvironment,
    Downloads,
    FleetError,
    HyperPodCluster,
    InstanceGroup,
    Lifecycle,
    LustreFileSystem,
    NeuronEnvironment,
    TrainingRuntime,
)
from tests.clean import nag_findings
from tests.hyperpod.manifests import written_manifest
from tests.hyperpod.test_node_configuration import problems, statements
from tests.rules.training.runtimes import NXD

Make = Callable[..., HyperPodCluster]
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/team/training:v1"


def test_the_manifest_has_the_runtime_and_the_role_can_read_and_pull_it(
    make: Make, lustre: LustreFileSystem, stack: cdk.Stack
) -> None:
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:us-west-2:111122223333:key/k")
    secret = secretsmanager.Secret.from_secret_attributes(stack, "Hub", secret_complete_arn=SECRET, encryption_key=key)
    runtime = TrainingRuntime(environments=[ContainerEnvironment(image=IMAGE)], hub_token_secret=secret)
    make(lustre=lustre, training=runtime)
    training = written_manifest(stack)["training"]
    assert training["folder"] == "/fsx/llm-fleet"
    assert training["hub_token_secret_arn"] == SECRET
    granted = statements(stack)
    assert (granted["HubToken"]["Action"], granted["HubToken"]["Resource"]) == ("secretsmanager:GetSecretValue", SECRET)
    assert granted["HubTokenKey"]["Action"] == "kms:Decrypt"
    assert "repository/team/training" in json.dumps(granted["Images"]["Resource"])
    assert "ImageRegistry" in granted


def test_a_runtime_without_secret_and_private_image_requires_no_permissions(
    make: Make, lustre: LustreFileSystem, stack: cdk.Stack
) -> None:
    make(lustre=lustre, training=TrainingRuntime(environments=[ContainerEnvironment(image="x/y:1")]))
    assert not {"HubToken", "HubTokenKey", "Images", "ImageRegistry"} & set(statements(stack))


def test_wheels_are_those_of_the_lock_file(
    make: Make, lustre: LustreFileSystem, stack: cdk.Stack, tmp_path: Path
) -> None:
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"schema_version": 1, "files": list(NXD)}))
    runtime = TrainingRuntime(environments=[NeuronEnvironment()])
    make(lustre=lustre, training=runtime, downloads=Downloads(lock=lock))
    (environment,) = written_manifest(stack)["training"]["environments"]
    assert environment["groups"] == ["worker-group"]
    assert len(environment["packages"]) == len(NXD)


def test_errors_are_reported_at_their_parameters(make: Make, lustre: LustreFileSystem) -> None:
    environments = [NeuronEnvironment(stack="torchneuron", groups=["worker-group"])]
    assert problems(make, training=TrainingRuntime(environments=environments)) == [
        ("LF800", "training.folder"),
        ("LF807", "training.environments[0].stack"),
    ]
    unreported = problems(make, id="Other", lustre=lustre, training=TrainingRuntime(), lifecycle=Lifecycle.NONE)
    assert unreported == [("LF429", "training")]


def test_a_group_that_does_not_mount_lustre_has_no_shared_folder(make: Make, lustre: LustreFileSystem) -> None:
    lone = InstanceGroup.workers("lone", "ml.m5.xlarge", count=1, partition="lone", mount_lustre=False)
    with pytest.raises(FleetError) as caught:
        make(lone, lustre=lustre, training=TrainingRuntime())
    assert [(each.code.value, each.where) for each in caught.value.problems] == [("LF800", "training.folder")]


def test_nag_finds_nothing(app: cdk.App, make: Make, lustre: LustreFileSystem, stack: cdk.Stack) -> None:
    secret: Any = secretsmanager.Secret.from_secret_complete_arn(stack, "Hub", SECRET)
    runtime = TrainingRuntime(environments=[ContainerEnvironment(image=IMAGE)], hub_token_secret=secret)
    make(lustre=lustre, training=runtime)
    found = [finding for finding in nag_findings(app) if "NodeRole" in finding]
    assert found == []
