"""What nodes are told of metrics: understood alike by both sides, and nothing where none are asked for."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics
from llm_fleet.lifecycle.node_manifest import NodeGroup, NodeManifest, render
from llm_fleet.rules.terms import NodePlatform, NodeType, ParallelClusterHook
from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest import check

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "lifecycle_scripts" / "fleet.schema.json").read_text(encoding="utf-8"))
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1"
URL = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"


def rendered(metrics: ClusterMetrics | None, *, platform: NodePlatform = NodePlatform.HYPERPOD) -> dict[str, Any]:
    hyperpod = platform is NodePlatform.HYPERPOD
    group = NodeGroup(
        name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge" if hyperpod else "m5.xlarge"]
    )
    if not hyperpod:
        group = NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["m5.xlarge"],
                          hook=ParallelClusterHook.ON_NODE_CONFIGURED)  # fmt: skip
    manifest = NodeManifest(
        fleet_name="demo",
        region="us-west-2",
        cluster_name="train-0a1b2c3d",
        platform=platform,
        groups=[group],
        metrics=metrics,
        metrics_cluster=None if hyperpod else "train",
    )
    return render(manifest, content_hash="a" * 64, scripts_sha256="b" * 64)


def test_nodes_of_a_fleet_without_metrics_are_told_what_they_always_were() -> None:
    assert "metrics" not in rendered(None)


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        (ClusterMetrics.cloudwatch(), {"log_group": "/llm-fleet/metrics/train-0a1b2c3d", "remote_write_url": None}),
        (ClusterMetrics.prometheus(workspace_arn=ARN), {"log_group": None, "remote_write_url": URL}),
    ],
)
def test_both_sides_understand_what_nodes_are_told(metrics: ClusterMetrics, told: dict[str, Any]) -> None:
    document = rendered(metrics)
    jsonschema.validate(document, SCHEMA)
    check(document, SCHEMA)
    assert document["metrics"].items() >= {**told, "namespace": "LlmFleet/Nodes", "seconds": 60}.items()


@pytest.mark.parametrize(
    "change",
    [{"destination": "datadog"}, {"remote_write_url": "http://x"}, {"seconds": 1}, {"extra": 1}, {"cluster": ""}],
)
def test_both_sides_refuse_alike(change: dict[str, Any]) -> None:
    document = rendered(ClusterMetrics.cloudwatch())
    document["metrics"] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)
    with pytest.raises(Failure):
        check(document, SCHEMA)


def test_metrics_of_a_parallelcluster_keep_their_name_when_its_hash_changes() -> None:
    document = rendered(ClusterMetrics.cloudwatch(), platform=NodePlatform.PARALLELCLUSTER)
    assert (document["metrics"]["cluster"], document["metrics"]["log_group"]) == ("train", "/llm-fleet/metrics/train")
