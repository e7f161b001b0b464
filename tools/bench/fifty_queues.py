"""The empty app with 50 queues of 50 compute resources in it: created, checked, rendered, checked again, synthesized.

ParallelCluster accepts 50 compute resources in a cluster; this has 50 times as many, so that the time is measurable.
"""

import os

import aws_cdk as cdk

from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import HeadNode
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue

MANY = 50


def many_queues() -> PlacedParallelCluster:
    """Return a cluster of many queues, each of as many compute resources."""
    queues = [
        Queue(
            name=f"q{number}",
            resources=[
                ComputeResource(name=f"r{index}", instance_types=["trn1.32xlarge"], max_count=4)
                for index in range(MANY)
            ],
            tags={"Queue": f"q{number}"},
            overrides={"Networking": {"Proxy": {"HttpProxyAddress": "https://proxy.example.com:3128"}}},
        )
        for number in range(MANY)
    ]
    return PlacedParallelCluster(
        cluster_name="train",
        region="us-west-2",
        version="3.16.1",
        os="alinux2023",
        head_node=HeadNode(instance_type="m5.8xlarge"),
        queues=queues,
    )


if __name__ == "__main__":
    app = cdk.App(outdir=os.environ["CDK_OUTDIR"])
    stack = cdk.Stack(app, "Empty")
    cluster = many_queues()
    check_parallelcluster(cluster)
    configuration = render_configuration(cluster)
    check_configuration(configuration)
    cdk.CfnResource(
        stack, "Cluster", type="Custom::PclusterCluster", properties={"ClusterConfiguration": configuration}
    )
    app.synth()
