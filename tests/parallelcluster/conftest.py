"""Existing resources for a cluster, given by their ids because this is fast, and a function that makes a cluster."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import ExistingNetworkSpec, FleetNetwork, HeadNode, ParallelCluster, Queue
from llm_fleet.network.network import Network
from tests.made_clusters import parallel_cluster

ZONE = "usw2-az4"
OTHER_ZONE = "usw2-az1"
SUBNETS = {ZONE: "subnet-0123456789abcdef0", OTHER_ZONE: "subnet-0123456789abcdef1"}
SECURITY_GROUP = "sg-0123456789abcdef0"

Make = Callable[..., ParallelCluster]
Read = Callable[[], dict[str, Any]]


@pytest.fixture
def network(stack: cdk.Stack) -> Network:
    return FleetNetwork.from_attributes(
        stack,
        "Network",
        ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS, security_group=SECURITY_GROUP),
    )


@pytest.fixture
def make(stack: cdk.Stack, network: Network) -> Make:
    """Create a cluster with one Trainium queue, and any other argument."""

    def make_cluster(id: str = "Train", **options: Any) -> ParallelCluster:
        defaults: dict[str, Any] = {
            "network": network,
            "cluster_name": "train",
            "head_node": HeadNode(instance_type="m5.2xlarge"),
            "queues": [Queue.trainium("trn1", max_count=4)],
        }
        return parallel_cluster(stack, id, **{**defaults, **options})

    return make_cluster


@pytest.fixture
def properties(stack: cdk.Stack) -> Read:
    """Return the properties of the stack's only cluster."""

    def read() -> dict[str, Any]:
        clusters = Template.from_stack(stack).find_resources("Custom::PclusterCluster")
        assert len(clusters) == 1
        return next(iter(clusters.values()))["Properties"]

    return read
