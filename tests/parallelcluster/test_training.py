"""The training runtime of a ParallelCluster: told to nodes, and what the nodes that jobs run on may do about it."""

import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet import FleetError, LoginPool, Queue, SharedStorage, TrainingEnvironment, TrainingRuntime
from tests.hyperpod.told import told_manifest
from tests.parallelcluster.conftest import Make
from tests.parallelcluster.test_node_rights import documents, ids

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:v1"
APPS = SharedStorage.lustre("apps", mount_dir="/data", file_system_id="fs-0123456789abcdef0")


def test_it_is_told_and_only_queues_may_read_and_pull(stack: cdk.Stack, make: Make) -> None:
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Hub", SECRET)
    runtime = TrainingRuntime(environments=[TrainingEnvironment.container(image=IMAGE)], hub_token_secret=secret)
    pool = LoginPool(name="login", instance_type="m5.large")
    make(training=runtime, shared_storage=[APPS], login_pools=[pool])
    training = told_manifest(stack)["training"]
    assert (training["folder"], training["environments"][0]["groups"]) == ("/data/llm-fleet", ["trn1"])
    assert training["fabrics"][0]["processes"] == 32
    policies = documents(stack)
    assert {"HubToken", "ImageRegistry", "Images"} <= set(ids(policies["queues"]))
    assert "repository/training" in json.dumps(policies["queues"])
    for kind in ("head", "login"):
        assert not {"HubToken", "ImageRegistry", "Images"} & set(ids(policies[kind]))


def test_the_operating_system_is_looked_at(make: Make) -> None:
    newer = TrainingRuntime(environments=[TrainingEnvironment.neuron(release="2.29.1")])
    with pytest.raises(FleetError) as caught:
        make(training=newer, shared_storage=[APPS])
    assert [(each.code.value, each.where) for each in caught.value.problems] == [
        ("LF810", "training.environments[0].release")
    ]


def test_without_shared_storage_it_is_refused(make: Make) -> None:
    with pytest.raises(FleetError) as caught:
        make(training=TrainingRuntime(), queues=[Queue.trainium("trn1", max_count=4)])
    assert [(each.code.value, each.where) for each in caught.value.problems] == [("LF800", "training.folder")]
