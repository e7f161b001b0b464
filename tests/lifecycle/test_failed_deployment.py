"""A first deployment that fails after the bundle was published, as when a cluster gets no capacity."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet_local.aws.client import LocalAws
from tools.synth_environment import cdk_context

ACCOUNT, REGION = "123456789012", "us-west-2"
CONTROLLER = NodeGroup(name="controller", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])


@pytest.mark.usefixtures("few_scripts")
def test_the_failed_deployment_is_rolled_back_completely(tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    stack = cdk.Stack(app, "Train", env=cdk.Environment(account=ACCOUNT, region=REGION))
    bundle = LifecycleBundle(
        stack,
        "Bundle",
        bucket=LifecycleBucket(stack, "Scripts", name_part="train").bucket,
        manifest=NodeManifest(fleet_name="train", region=REGION, groups=[CONTROLLER]),
    )
    s3.CfnBucket(stack, "Fails", bucket_name="taken-by-another").node.add_dependency(bundle)
    app.synth()
    with LocalAws(account=ACCOUNT, region=REGION) as aws:
        aws.bootstrap()
        place = {"LocationConstraint": REGION}
        aws.client("s3").create_bucket(Bucket="taken-by-another", CreateBucketConfiguration=place)
        aws.deploy(tmp_path)
        (made,) = aws.client("cloudformation").describe_stacks(StackName="Train")["Stacks"]
        assert made["StackStatus"] == "ROLLBACK_COMPLETE", made.get("StackStatusReason")
