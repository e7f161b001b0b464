"""Cards of clusters: SageMaker HyperPod's and AWS ParallelCluster's."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.cli.plan.picture.names import count, short, some
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View

HYPERPOD, PARALLELCLUSTER = "AWS::SageMaker::Cluster", "Custom::PclusterCluster"
_MOST_LINES = 12


def cluster_things(view: View) -> Iterator[Thing]:
    """Give every cluster with its groups."""
    for cluster in view.of_type(HYPERPOD):
        yield _card(view, cluster, "HyperPod", tuple(_groups(cluster.properties)))
    for cluster in view.of_type(PARALLELCLUSTER):
        lines = tuple(_nodes(cluster.properties["ClusterConfiguration"]))
        yield _card(view, cluster, "ParallelCluster", lines)


def _card(view: View, cluster: Resource, kind: str, lines: tuple[str, ...]) -> Thing:
    return Thing(
        key=cluster.key,
        title=short(f"{kind} {view.references.told(cluster.properties.get('ClusterName', ''))}"),
        lines=some(lines, _MOST_LINES),
        tone=Tone.COMPUTE,
        column=Column.COMPUTE,
        stack=cluster.stack,
        subnets=view.places(cluster, cluster.properties),
    )


def _groups(properties: Mapping[str, Any]) -> Iterator[str]:
    for group in properties.get("InstanceGroups", ()):
        several = group.get("InstanceRequirements", {}).get("InstanceTypes", ())
        kind = group.get("InstanceType") or " or ".join(several)
        amount = count(group["InstanceCount"], kind, group.get("MinInstanceCount"))
        yield short(f"{group['InstanceGroupName']}: {amount}")


def _nodes(config: Mapping[str, Any]) -> Iterator[str]:
    yield short(f"head node: {count(1, config['HeadNode']['InstanceType'])}")
    for pool in config.get("LoginNodes", {}).get("Pools", ()):
        yield short(f"{pool['Name']}: {count(pool['Count'], pool['InstanceType'])}")
    for queue in config["Scheduling"].get("SlurmQueues", ()):
        for compute in queue["ComputeResources"]:
            yield _compute(queue["Name"], compute)


def _compute(queue: str, compute: Mapping[str, Any]) -> str:
    several = " or ".join(one["InstanceType"] for one in compute.get("Instances", ()))
    kind = compute.get("InstanceType") or several
    # ParallelCluster's own defaults where a configuration leaves them out.
    return short(f"{queue}: {count(compute.get('MaxCount', 10), kind, compute.get('MinCount', 0))}")
