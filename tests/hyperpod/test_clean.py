"""No checker finds anything in the template of a cluster."""

from collections.abc import Callable

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker

from llm_fleet import (
    AutoPatch,
    DeepHealthCheck,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    LustreFileSystem,
    OpenZfsFileSystem,
    PatchingStrategy,
    RollingUpdate,
    ScheduledUpdate,
)
from tests.clean import all_findings, validator_findings

MISSING_TYPES = ("ml.p5e.48xlarge", "ml.trn2.48xlarge")
"""Instance types of HyperPod that were missing in the validators' lists in 2026-11."""


@pytest.fixture
def network(whole_network: FleetNetwork) -> FleetNetwork:
    return whole_network


@pytest.fixture
def everything(stack: cdk.Stack, network: FleetNetwork, lustre: LustreFileSystem) -> cdk.Stack:
    """A cluster with most settings, and all resources next to it."""
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    cluster = HyperPodCluster(
        stack,
        "Train",
        HyperPodClusterSpec(
            cluster_name="ml-cluster",
            tags={"team": "llm"},
            groups=[
                InstanceGroup.controller("ml.m5.xlarge", root_volume_key=key),
                InstanceGroup.login("ml.m5.xlarge", ebs_volume_gib=200, ebs_volume_key=key),
                InstanceGroup.workers(
                    "trn1",
                    "ml.trn1.32xlarge",
                    count=4,
                    min_count=1,
                    deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS],
                    scheduled_update=ScheduledUpdate(
                        schedule_expression="cron(0 3 ? * SUN *)", deployment=RollingUpdate(alarm_names=["sick"])
                    ),
                ),
                InstanceGroup.workers("spot", ["ml.g6e.48xlarge", "ml.g5.48xlarge"], count=2, spot=True),
                InstanceGroup.workers(
                    "far",
                    "ml.trn1.32xlarge",
                    count=1,
                    availability_zone_id="usw2-az1",
                    mount_lustre=False,
                    mount_open_zfs=False,
                ),
                InstanceGroup.workers(
                    "patched", "ml.p5.48xlarge", count=1, auto_patch=AutoPatch(strategy=PatchingStrategy.WHEN_IDLE)
                ),
            ],
        ),
        network=network,
        lustre=lustre,
        open_zfs=OpenZfsFileSystem(stack, "Home", network=network),
    )
    cluster.add_outputs()
    return stack


def test_no_checker_finds_anything(app: cdk.App, everything: cdk.Stack) -> None:
    assert all_findings(app) == []


def test_instance_types_that_the_validator_lacks_have_no_findings(
    app: cdk.App, make: Callable[..., HyperPodCluster]
) -> None:
    make(*(InstanceGroup.workers(name.split(".")[1], name, count=1) for name in MISSING_TYPES))
    assert validator_findings(app) == []


def test_the_validator_rejects_these_types_in_a_plain_cluster(app: cdk.App, stack: cdk.Stack) -> None:
    group = {"executionRole": "arn:aws:iam::111122223333:role/x", "instanceCount": 1, "instanceGroupName": "a"}
    sagemaker.CfnCluster(stack, "Bare", instance_groups=[{**group, "instanceType": MISSING_TYPES[0]}])
    assert validator_findings(app) != []
