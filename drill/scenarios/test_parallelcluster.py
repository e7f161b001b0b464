"""A head node and a queue shaped like AWS ParallelCluster's: each node brings the bundle itself, by the AWS CLI."""

from __future__ import annotations

import aws_cdk as cdk
import pytest

from drill.bundle import Bundle
from drill.embedded_aws import EmbeddedAws
from drill.nodes.backend import NodePlan
from drill.nodes.choose import make_backend
from drill.platforms.parallelcluster import Machine, ParallelCluster
from drill.services import Services
from drill.slurm import Slurm
from drill.stand_ins import shared
from drill.stand_ins.stand_in import install
from llm_fleet.lifecycle.lifecycle_bucket import LifecycleBucket
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeGroup, NodeManifest
from llm_fleet.rules.terms import NodePlatform, NodeType, ParallelClusterHook

_MACHINES = [
    Machine("ip-10-66-0-10", "10.66.0.10", "head", None),
    Machine("trn-st-large-1", "10.66.1.1", "trn", "trn"),
    Machine("trn-st-large-2", "10.66.1.2", "trn", "trn"),
]
_HOOK = ParallelClusterHook.ON_NODE_CONFIGURED


@pytest.fixture
def bundle(aws: EmbeddedAws) -> Bundle:
    """The bundle of a ParallelCluster, published by the construct."""

    def make(app: cdk.App) -> None:
        environment = cdk.Environment(account="123456789012", region="us-west-2")
        stack = cdk.Stack(app, "pc-bundle", env=environment)
        manifest = NodeManifest(
            fleet_name="pc",
            region="us-west-2",
            cluster_name="pc-train",
            platform=NodePlatform.PARALLELCLUSTER,
            groups=[
                NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["m5.xlarge"], hook=_HOOK),
                NodeGroup(
                    name="trn", role=NodeType.COMPUTE, instance_types=["m5.2xlarge"], partition="trn", hook=_HOOK
                ),
            ],
        )
        bucket = LifecycleBucket(stack, "Bucket", name_part="pc").bucket
        made = LifecycleBundle(stack, "Bundle", bucket=bucket, manifest=manifest)
        cdk.CfnOutput(stack, "Uri", value=made.source_s3_uri)

    aws.deploy_app(make)
    (stack,) = aws.client("cloudformation").describe_stacks(StackName="pc-bundle")["Stacks"]
    return aws.bundle(next(one["OutputValue"] for one in stack["Outputs"] if one["OutputKey"] == "Uri"))[0]


def test_head_and_queue_come_up(aws: EmbeddedAws, bundle: Bundle):
    with make_backend(say=lambda _: None) as backend:
        services = Services(backend, aws.endpoint)
        services.start()
        folder = shared.lay_out(backend.folder / "shared", [])
        platform = ParallelCluster("pc-train", _MACHINES, region="us-west-2", endpoint=services.endpoint)
        nodes = backend.create_all([NodePlan(one.host_name, one.address, {shared.SHARED: folder}) for one in _MACHINES])
        pairs = list(zip(nodes, _MACHINES, strict=True))
        for node, machine in pairs:
            install(node)
            platform.configure(node, machine)
        logs = [backend.folder / f"{machine.host_name}.log" for machine in _MACHINES]
        runs = [platform.start_hook(*pair, bundle, log) for pair, log in zip(pairs, logs, strict=True)]
        for run, (node, machine) in zip(runs, pairs, strict=True):
            assert run.wait(120) == 0, node.read("/var/log/cfn-init.log")
            platform.finalize(node, machine)
        services.stop()

        slurm = Slurm(nodes[0])
        slurm.wait_for_states("trn-st-large-1", "trn-st-large-2", state="idle", seconds=30)
        assert slurm.hosts_of("--nodes=2") == ["trn-st-large-1", "trn-st-large-2"]
        assert "llm-fleet" not in nodes[0].read("/opt/slurm/etc/slurm.conf").lower()
