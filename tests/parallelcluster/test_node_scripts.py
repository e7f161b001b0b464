"""Scripts, downloads and the manifest of the nodes of a cluster."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet import (
    CapacityReservation,
    CapacityType,
    ClusterUser,
    ComputeResource,
    ContainerEnvironment,
    ExistingLustre,
    ExistingNetworkSpec,
    ExistingOpenZfs,
    FleetError,
    FleetNetwork,
    HeadNode,
    LoginPool,
    LustreFileSystem,
    NeuronEnvironment,
    NodeScripts,
    OpenZfsFileSystem,
    OwnStep,
    OwnSteps,
    Queue,
    S3Mount,
    SharedStorage,
    TrainingRuntime,
)
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet_local.parallelcluster.client import Oracle
from tests.conftest import ENVIRONMENT
from tests.hyperpod.manifests import written_manifest
from tests.made_clusters import parallel_cluster
from tests.parallelcluster.conftest import SECURITY_GROUP, SUBNETS, Make
from tests.parallelcluster.deployed import configuration_of
from tests.parallelcluster.test_node_rights import documents, ids
from tools.synth_environment import cdk_context


def test_groups_of_the_manifest_by_kind_of_node(stack: cdk.Stack, make: Make):
    cluster = make(
        queues=[
            Queue.trainium("trn1", max_count=4),
            Queue.cpu("cpu", instance_type=["c5.large", "m5.large"], max_count=2),
        ],
        login_pools=[LoginPool(name="cpu", instance_type="m5.large")],
    )
    manifest = written_manifest(stack)
    assert (manifest["platform"], manifest["fleet"], manifest["cluster"]) == (
        "parallelcluster",
        "train",
        cluster.cluster_name,
    )
    assert manifest["accounting"] is None, "ParallelCluster sets it up itself"
    groups = [(group["name"], group["role"], group["partition"], group["hook"]) for group in manifest["groups"]]
    assert groups == [
        ("HeadNode", "Controller", None, "OnNodeConfigured"),
        ("trn1", "Compute", "trn1", "OnNodeConfigured"),
        ("cpu", "Compute", "cpu", "OnNodeConfigured"),
        ("LoginNodes-cpu", "Login", None, "OnNodeConfigured"),
    ]


def test_mounts_in_the_manifest(stack: cdk.Stack, make: Make):
    lustre = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(
            file_system_id="fs-0123456789abcdef0",
            mount_name="abcdefgh",
            dns_name="fs-0123456789abcdef0.example",
            efa_enabled=True,
        ),
    )
    home = OpenZfsFileSystem.from_attributes(
        stack,
        "Home",
        ExistingOpenZfs(
            file_system_id="fs-0123456789abcdef1",
            volume_id="fsvol-0123456789abcdef0",
            dns_name="fs-0123456789abcdef1.example",
        ),
    )
    make(lustre=lustre, lustre_mount_path="/data", open_zfs=home)
    mounts = [
        (mount["kind"], mount["dns_name"], mount["mount_path"], mount["efa"])
        for mount in written_manifest(stack)["mounts"]
    ]
    assert mounts == [
        ("lustre", "fs-0123456789abcdef0.example", "/data", True),
        ("open_zfs", "fs-0123456789abcdef1.example", "/home", None),
    ]


def test_users_buckets_and_custom_steps_in_the_manifest(stack: cdk.Stack, make: Make, tmp_path: Path):
    script = tmp_path / "tools.sh"
    script.write_text("#!/bin/bash\n")
    script.chmod(0o755)
    corpus = s3.Bucket.from_bucket_name(stack, "B", "corpus")
    make(
        users=[ClusterUser(name="ada", uid=2001)],
        s3_mounts=[S3Mount(bucket=corpus, mount_path="/s3/c", groups=["HeadNode"])],
        scripts=NodeScripts(own=OwnSteps(folder=tmp_path, steps=[OwnStep(name="tools", script="tools.sh")])),
    )
    manifest = written_manifest(stack)
    assert manifest["users"][0]["name"] == "ada"
    assert manifest["s3_mounts"][0]["groups"] == ["HeadNode"]
    assert [step["name"] for step in manifest["steps"]["own"]] == ["tools"]
    assert manifest["reports"]["s3_uri"].endswith(f"/reports/train/{manifest['cluster']}/")


def test_a_bucket_for_an_unknown_group_is_reported(stack: cdk.Stack, make: Make):
    mount = S3Mount(bucket=s3.Bucket.from_bucket_name(stack, "B", "corpus"), mount_path="/s3/c", groups=["trn2"])
    with pytest.raises(FleetError) as error:
        make(s3_mounts=[mount])
    (problem,) = error.value.problems
    assert problem.path[:2] == ("s3_mounts", 0)
    assert "trn1" in problem.allowed


def test_settings_that_no_node_would_read_are_rejected(make: Make):
    with pytest.raises(FleetError) as error:
        make(scripts=None, users=[ClusterUser(name="ada", uid=2001)])
    assert [problem.code.value for problem in error.value.problems] == ["LF429"]


def test_a_custom_step_without_its_script_is_reported(make: Make, tmp_path: Path):
    own = OwnSteps(folder=tmp_path / "nowhere", steps=[OwnStep(name="tools", script="tools.sh")])
    with pytest.raises(FleetError) as error:
        make(scripts=NodeScripts(own=own))
    assert {problem.path[:2] for problem in error.value.problems} == {("scripts", "own")}


def test_a_fleet_name_that_is_a_token_is_not_in_the_path_of_reports(stack: cdk.Stack, make: Make):
    fleet = cdk.CfnParameter(stack, "Fleet").value_as_string
    cluster = make(fleet_name=fleet, head_node=HeadNode(instance_type="m5.2xlarge"))
    manifest = written_manifest(stack)
    assert manifest["fleet"] == "<Fleet>"
    assert manifest["reports"]["s3_uri"].endswith(f"/{cluster.cluster_name}/")
    assert "<Fleet>" not in manifest["reports"]["s3_uri"]


def test_instance_types_of_a_reservation_are_unknown_in_the_manifest(stack: cdk.Stack, make: Make):
    block = ComputeResource(
        name="block", min_count=2, max_count=2, capacity_reservation=CapacityReservation.id("cr-0123456789abcdef0")
    )
    make(queues=[Queue(name="block", resources=[block], capacity_type=CapacityType.CAPACITY_BLOCK)])
    types = {group["name"]: group["instance_types"] for group in written_manifest(stack)["groups"]}
    assert types["block"] == []


SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training:v1"
APPS = SharedStorage.lustre("apps", mount_dir="/data", file_system_id="fs-0123456789abcdef0")


def test_training_is_in_the_manifest_and_only_queues_can_read_and_pull(stack: cdk.Stack, make: Make) -> None:
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Hub", SECRET)
    runtime = TrainingRuntime(environments=[ContainerEnvironment(image=IMAGE)], hub_token_secret=secret)
    pool = LoginPool(name="login", instance_type="m5.large")
    make(training=runtime, shared_storage=[APPS], login_pools=[pool])
    training = written_manifest(stack)["training"]
    assert (training["folder"], training["environments"][0]["groups"]) == ("/data/llm-fleet", ["trn1"])
    assert training["fabrics"][0]["processes"] == 32
    policies = documents(stack)
    assert {"HubToken", "ImageRegistry", "Images"} <= set(ids(policies["queues"]))
    assert "repository/training" in json.dumps(policies["queues"])
    for kind in ("head", "login"):
        assert not {"HubToken", "ImageRegistry", "Images"} & set(ids(policies[kind]))


def test_the_operating_system_is_checked_for_training(make: Make) -> None:
    newer = TrainingRuntime(environments=[NeuronEnvironment(release="2.29.1")])
    with pytest.raises(FleetError) as caught:
        make(training=newer, shared_storage=[APPS])
    assert [(each.code.value, each.where) for each in caught.value.problems] == [
        ("LF810", "training.environments[0].release")
    ]


def test_training_requires_shared_storage(make: Make) -> None:
    with pytest.raises(FleetError) as caught:
        make(training=TrainingRuntime(), queues=[Queue.trainium("trn1", max_count=4)])
    assert [(each.code.value, each.where) for each in caught.value.problems] == [("LF800", "training.folder")]


Deploy = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    """Create the cluster in a new app; return the configuration as the provider receives it."""

    def deploy(**options: Any) -> dict[str, Any]:
        app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("out")))
        stack = cdk.Stack(app, "Test", env=ENVIRONMENT)
        network = FleetNetwork.from_attributes(
            stack,
            "Network",
            ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS, security_group=SECURITY_GROUP),
        )
        parallel_cluster(
            stack,
            "Train",
            network=network,
            cluster_name="train",
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4)],
            login_pools=[LoginPool(name="login", instance_type="m5.large")],
            **options,
        )
        return configuration_of(stack)

    return deploy


@pytest.fixture(scope="module")
def deployed(deploy: Deploy) -> dict[str, Any]:
    """The cluster before any change."""
    return deploy()


@pytest.fixture
def changed_scripts(tmp_path: Path) -> Path:
    """The shipped scripts with an additional line in one of them."""
    folder = tmp_path / "scripts"
    shutil.copytree(default_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    entry = folder / "on_node_configured.sh"
    entry.write_text(entry.read_text() + "# changed\n")
    return folder


def lasting(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes that an update does not replace: head node and login pool."""
    return [configuration["HeadNode"], configuration["LoginNodes"]["Pools"][0]]


def test_an_update_accepts_a_changed_script(
    deployed: dict[str, Any], deploy: Deploy, changed_scripts: Path, oracle: Oracle
):
    assert_update_accepted(deployed, deploy(scripts=NodeScripts(scripts=changed_scripts)), oracle)


def test_an_update_accepts_a_changed_manifest(deployed: dict[str, Any], deploy: Deploy, oracle: Oracle):
    assert_update_accepted(deployed, deploy(users=[ClusterUser(name="ada", uid=2001)]), oracle)


def assert_update_accepted(old: dict[str, Any], new: dict[str, Any], oracle: Oracle) -> None:
    for before, after in zip(lasting(old), lasting(new), strict=True):
        assert before["CustomActions"]["OnNodeConfigured"] == after["CustomActions"]["OnNodeConfigured"]
        assert before["CustomActions"]["OnNodeUpdated"] != after["CustomActions"]["OnNodeUpdated"]
    (was,), (queue,) = old["Scheduling"]["SlurmQueues"], new["Scheduling"]["SlurmQueues"]
    assert was["CustomActions"]["OnNodeConfigured"] != queue["CustomActions"]["OnNodeConfigured"]
    changes = oracle.update(old, new)
    assert changes
    assert {change.verdict for change in changes} == {"SUCCEEDED"}


def test_arguments_of_the_scripts_of_each_node(deployed: dict[str, Any]):
    for node, group in zip(lasting(deployed), ("HeadNode", "LoginNodes-login"), strict=True):
        first = node["CustomActions"]["OnNodeConfigured"]
        root = first["Script"].removesuffix("/on_node_configured.sh")
        assert first["Args"] == [f"{root}/current", group]
        later = node["CustomActions"]["OnNodeUpdated"]
        prefix, digest, group_name = later["Args"]
        assert later["Script"] == f"{prefix}on_node_configured.sh"
        assert (prefix.startswith(f"{root}/"), len(digest), group_name) == (True, 64, group)
    queue = deployed["Scheduling"]["SlurmQueues"][0]["CustomActions"]
    assert queue["OnNodeConfigured"]["Args"][-1] == "trn1"
    assert "OnNodeUpdated" not in queue, "ParallelCluster replaces compute nodes instead"
