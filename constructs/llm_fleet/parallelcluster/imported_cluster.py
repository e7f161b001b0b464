"""A ParallelCluster that exists already."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.parallelcluster.cluster_base import ClusterBase


class ImportedCluster(ClusterBase):
    """A ParallelCluster that exists already. Made by `ParallelCluster.from_cluster_name`; creates nothing."""

    def __init__(
        self, scope: Construct, id: str, *, cluster_name: str, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> None:
        """Know the cluster by its name, and its nodes' security groups where told."""
        super().__init__(scope, id)
        self.cluster_name = cluster_name
        self._security_groups = tuple(security_groups)
