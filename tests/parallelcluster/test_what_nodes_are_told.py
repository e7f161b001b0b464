"""What is said of nodes reaches their manifest."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet import (
    CapacityReservation,
    CapacityType,
    ClusterUser,
    ComputeResource,
    ExistingLustre,
    ExistingOpenZfs,
    FleetError,
    HeadNode,
    LoginPool,
    LustreFileSystem,
    NodeScripts,
    OpenZfsFileSystem,
    OwnStep,
    Queue,
    S3Mount,
)
from tests.hyperpod.told import told_manifest
from tests.parallelcluster.conftest import Make


def test_groups_by_what_they_are_for(stack: cdk.Stack, make: Make):
    cluster = make(
        queues=[
            Queue.trainium("trn1", max_count=4),
            Queue.cpu("cpu", instance_type=["c5.large", "m5.large"], max_count=2),
        ],
        login_pools=[LoginPool(name="cpu", instance_type="m5.large")],
    )
    told = told_manifest(stack)
    assert (told["platform"], told["fleet"], told["cluster"]) == ("parallelcluster", "train", cluster.cluster_name)
    assert told["accounting"] is None, "ParallelCluster sets it up itself"
    groups = [(group["name"], group["role"], group["partition"], group["hook"]) for group in told["groups"]]
    assert groups == [
        ("HeadNode", "Controller", None, "OnNodeConfigured"),
        ("trn1", "Compute", "trn1", "OnNodeConfigured"),
        ("cpu", "Compute", "cpu", "OnNodeConfigured"),
        ("LoginNodes-cpu", "Login", None, "OnNodeConfigured"),
    ]


def test_mounts_as_nodes_verify_them(stack: cdk.Stack, make: Make):
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
        for mount in told_manifest(stack)["mounts"]
    ]
    assert mounts == [
        ("lustre", "fs-0123456789abcdef0.example", "/data", True),
        ("open_zfs", "fs-0123456789abcdef1.example", "/home", None),
    ]


def test_users_buckets_and_steps(stack: cdk.Stack, make: Make, tmp_path: Path):
    script = tmp_path / "tools.sh"
    script.write_text("#!/bin/bash\n")
    script.chmod(0o755)
    corpus = s3.Bucket.from_bucket_name(stack, "B", "corpus")
    make(
        users=[ClusterUser(name="ada", uid=2001)],
        s3_mounts=[S3Mount(bucket=corpus, mount_path="/s3/c", groups=["HeadNode"])],
        scripts=NodeScripts(own_steps=[OwnStep(name="tools", script="tools.sh")], own_scripts=tmp_path),
    )
    told = told_manifest(stack)
    assert told["users"][0]["name"] == "ada"
    assert told["s3_mounts"][0]["groups"] == ["HeadNode"]
    assert [step["name"] for step in told["steps"]["own"]] == ["tools"]
    assert told["reports"]["s3_uri"].endswith(f"/reports/train/{told['cluster']}/")


def test_a_bucket_for_a_group_that_is_not_there(stack: cdk.Stack, make: Make):
    mount = S3Mount(bucket=s3.Bucket.from_bucket_name(stack, "B", "corpus"), mount_path="/s3/c", groups=["trn2"])
    with pytest.raises(FleetError) as error:
        make(s3_mounts=[mount])
    (problem,) = error.value.problems
    assert problem.path[:2] == ("s3_mounts", 0)
    assert "trn1" in problem.allowed


def test_what_no_node_would_be_told(make: Make):
    with pytest.raises(FleetError) as error:
        make(scripts=None, users=[ClusterUser(name="ada", uid=2001)])
    assert [problem.code.value for problem in error.value.problems] == ["LF429"]


def test_own_step_without_its_script(make: Make, tmp_path: Path):
    scripts = NodeScripts(own_steps=[OwnStep(name="tools", script="tools.sh")], own_scripts=tmp_path / "nowhere")
    with pytest.raises(FleetError) as error:
        make(scripts=scripts)
    assert {problem.path[:2] for problem in error.value.problems} == {("scripts", "own_steps")}


def test_names_that_only_the_deployment_knows_name_no_place_in_the_bucket(stack: cdk.Stack, make: Make):
    fleet = cdk.CfnParameter(stack, "Fleet").value_as_string
    cluster = make(fleet_name=fleet, head_node=HeadNode(instance_type="m5.2xlarge"))
    told = told_manifest(stack)
    assert told["fleet"] == "<Fleet>"
    assert told["reports"]["s3_uri"].endswith(f"/{cluster.cluster_name}/")
    assert "<Fleet>" not in told["reports"]["s3_uri"]


def test_nodes_of_a_type_that_only_the_reservation_knows(stack: cdk.Stack, make: Make):
    block = ComputeResource(
        name="block", min_count=2, max_count=2, capacity_reservation=CapacityReservation.id("cr-0123456789abcdef0")
    )
    make(queues=[Queue(name="block", resources=[block], capacity_type=CapacityType.CAPACITY_BLOCK)])
    types = {group["name"]: group["instance_types"] for group in told_manifest(stack)["groups"]}
    assert types["block"] == []
