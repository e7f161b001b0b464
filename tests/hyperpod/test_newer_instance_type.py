"""A type made by `InstanceType.of` keeps its facts from the group to the nodes' manifest."""

from collections.abc import Callable

import aws_cdk as cdk

from llm_fleet import HyperPodCluster, InstanceGroup, InstanceType
from tests.hyperpod.told import told_manifest

NEW = InstanceType.of(
    "ml.trn9.48xlarge", network_cards=16, accelerator="neuron", accelerators=64, efa_interfaces=16, threads_per_core=2
)


def test_facts_reach_the_nodes(make: Callable[..., HyperPodCluster], stack: cdk.Stack) -> None:
    make(InstanceGroup.workers("new", NEW, count=1, threads_per_core=1))
    manifest = told_manifest(stack)
    (group,) = (group for group in manifest["groups"] if group["name"] == "new")
    told = {"name": "ml.trn9.48xlarge", "accelerator": "neuron", "accelerators": 64, "efa_interfaces": 16}
    told["lustre_efa_interfaces"] = 2
    assert group["instance_types"] == [told]
