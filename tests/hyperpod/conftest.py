"""Resources next to a cluster, and a function that makes the cluster of the launch post."""

from collections.abc import Callable, Sequence
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import FleetNetwork, HyperPodCluster, InstanceGroup, LustreFileSystem, LustreSpec, NetworkSpec
from llm_fleet.network.network import Network
from tests.made_clusters import hyperpod_cluster
from tests.made_networks import existing_network

ZONE = "usw2-az4"
OTHER_ZONE = "usw2-az1"

MakeCluster = Callable[..., HyperPodCluster]


@pytest.fixture
def network(stack: cdk.Stack) -> Network:
    return existing_network(stack)


@pytest.fixture
def whole_network(stack: cdk.Stack) -> FleetNetwork:
    """Return a new network with its 40 resources, for the few tests that check them."""
    return FleetNetwork(stack, "WholeNetwork", NetworkSpec(availability_zone_ids=[ZONE, OTHER_ZONE]))


@pytest.fixture
def lustre(stack: cdk.Stack, network: Network) -> LustreFileSystem:
    return LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=4800), network=network)


@pytest.fixture
def launch_groups() -> list[InstanceGroup]:
    return [
        InstanceGroup.controller("ml.m5.xlarge", name="controller-group"),
        InstanceGroup.workers("worker-group", "ml.trn1.32xlarge", count=4, partition="trn1"),
    ]


@pytest.fixture
def make(stack: cdk.Stack, network: Network, launch_groups: list[InstanceGroup]) -> MakeCluster:
    """Make a cluster of the launch post's groups, with `more` groups and any other keyword."""

    def make_cluster(*more: InstanceGroup, id: str = "Train", **options: Any) -> HyperPodCluster:
        groups: Sequence[InstanceGroup] = options.pop("groups", [*launch_groups, *more])
        return hyperpod_cluster(stack, id, groups=groups, network=options.pop("network", network), **options)

    return make_cluster


@pytest.fixture
def properties(stack: cdk.Stack) -> Callable[[], dict[str, Any]]:
    """Return the properties of the stack's only cluster."""

    def read() -> dict[str, Any]:
        clusters = Template.from_stack(stack).find_resources("AWS::SageMaker::Cluster")
        assert len(clusters) == 1
        return next(iter(clusters.values()))["Properties"]

    return read
