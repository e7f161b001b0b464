"""The connections of a cluster's nodes, for HyperPod and ParallelCluster alike."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems


def node_connections(security_groups: Sequence[ec2.ISecurityGroup], *, subject: str, remedy: str) -> ec2.Connections:
    """Return the connections of nodes in `security_groups`.

    Raises `FleetError` (LF572) for the cluster `subject` when there are none; `remedy` says how it would have some.
    """
    if not security_groups:
        problem = Problem(
            code=Code.CLUSTER_WITHOUT_CONNECTIONS,
            message="the cluster has no security group that anything could be opened to",
            path=("connections",),
            remedy=remedy,
        )
        raise_problems([problem], subject=subject)
    return ec2.Connections(security_groups=list(security_groups))
