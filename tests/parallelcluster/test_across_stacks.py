"""A cluster in a stack of its own, beside a stack of what outlives it."""

from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3

from llm_fleet import (
    DeployedConfiguration,
    FleetNetwork,
    HeadNode,
    LustreFileSystem,
    OpenZfsFileSystem,
    ParallelCluster,
    Queue,
)
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context


def fleet(tmp_path: Path, *, max_count: int = 4, deployed: DeployedConfiguration | None = None) -> cdk.App:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path / f"out{max_count}"))
    lasting = cdk.Stack(app, "Lasting", env=ENVIRONMENT)
    network = FleetNetwork(lasting, "Network", availability_zone_ids=["usw2-az4"])
    cluster = ParallelCluster(
        cdk.Stack(app, "Train", env=ENVIRONMENT),
        "Cluster",
        network=network,
        lustre=LustreFileSystem(lasting, "Fsx", network=network, storage_capacity_gib=1200),
        open_zfs=OpenZfsFileSystem(lasting, "Home", network=network),
        read_buckets=[s3.Bucket(lasting, "Data")],
        head_node=HeadNode(instance_type="m5.2xlarge"),
        queues=[Queue.trainium("trn1", max_count=max_count)],
        deployed=deployed,
    )
    assert cluster.cluster_name
    return app


def test_the_cluster_depends_on_what_outlives_it_and_is_compared_as_it_was_deployed(tmp_path: Path):
    app = fleet(tmp_path)
    app.synth()
    lasting, train = (cast(cdk.Stack, app.node.find_child(name)) for name in ("Lasting", "Train"))
    assert [stack.stack_name for stack in train.dependencies] == ["Lasting"]
    assert not lasting.dependencies

    deployed = DeployedConfiguration.from_file(tmp_path / "out4" / "Train.template.json")
    subnet = deployed.configuration["HeadNode"]["Networking"]["SubnetId"]
    assert list(subnet) == ["Fn::GetStackOutput"], "no Ref, as it would be before the references are resolved"
    stacks = fleet(tmp_path, max_count=8, deployed=deployed).synth().stacks
    (told,) = [str(message.entry.data) for stack in stacks for message in stack.messages]
    assert "1 change (free: 1); the update passes" in told


def test_two_clusters_share_a_network_and_its_files(tmp_path: Path):
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    stack = cdk.Stack(app, "Both", env=ENVIRONMENT)
    network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"])
    lustre = LustreFileSystem(stack, "Fsx", network=network, storage_capacity_gib=1200)
    names = {
        ParallelCluster(
            stack,
            name,
            network=network,
            lustre=lustre,
            head_node=HeadNode(instance_type="m5.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4)],
        ).cluster_name
        for name in ("One", "Two")
    }
    assert len(names) == 2
