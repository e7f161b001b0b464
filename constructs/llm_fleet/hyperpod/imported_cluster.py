"""A HyperPod cluster that exists already."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.hyperpod.cluster_base import ClusterBase


class ImportedCluster(ClusterBase):
    """A HyperPod cluster that exists already. Made by `HyperPodCluster.from_…`; creates nothing."""

    def __init__(
        self, scope: Construct, id: str, *, cluster_arn: str, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> None:
        """Know the cluster by its ARN, and its nodes' security groups where told."""
        super().__init__(scope, id)
        self.cluster_arn = cluster_arn
        self._security_groups = tuple(security_groups)
