"""`make demo` shows a ParallelCluster as its stack reports it."""

from typing import Any

from rich.console import Console

from llm_fleet_local.command.parallel_clusters import ParallelClusters
from tests.local.aws.parallelcluster.clusters import Clusters


def test_the_demo_shows_nodes_storage_hooks_and_the_stand_in(clusters: Clusters):
    pool: dict[str, Any] = {
        "Name": "login",
        "InstanceType": "c5.large",
        "Count": 2,
        "Networking": {"SubnetIds": [clusters.subnet]},
    }
    apps: dict[str, Any] = {"Name": "apps", "MountDir": "/apps", "StorageType": "Ebs", "EbsSettings": {"Size": 200}}
    configuration: dict[str, Any] = clusters.configuration() | {
        "LoginNodes": {"Pools": [pool]},
        "SharedStorage": [apps],
    }
    script: dict[str, Any] = {"OnNodeConfigured": {"Script": "s3://scripts/entry.sh", "Args": []}}
    configuration["Scheduling"]["SlurmQueues"][0] |= {"CustomActions": script, "JobExclusiveAllocation": True}
    assert clusters.deploy("shown", clusters.template("shown-1", configuration)) == "CREATE_COMPLETE"

    console = Console(record=True, width=120)
    bundles = ParallelClusters(clusters.aws.client, console).show()

    assert bundles == ["s3://scripts/"]
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    for expected in (
        "ParallelCluster shown-1 (CREATE_COMPLETE), version 3.16.1, alinux2023",
        "head node c5.2xlarge 1",
        "login login c5.large 2",
        "queue trn1, trn1 trn1.32xlarge 0 to 4 yes together exclusive",
        "/apps apps Ebs created by ParallelCluster, 200 GiB",
        "OnNodeConfigured of the head node: s3://scripts/entry.sh",
        "OnNodeConfigured of nodes of trn1: s3://scripts/entry.sh",
    ):
        assert expected in lines, lines
    head = clusters.outputs("shown-1")
    was_in = f"head node {head['HeadNodeInstanceID']} at {head['HeadNodePrivateIP']}: a STAND-IN"
    assert any(line.startswith(was_in) for line in lines)
    assert clusters.destroy("shown") == "DELETE_COMPLETE"
