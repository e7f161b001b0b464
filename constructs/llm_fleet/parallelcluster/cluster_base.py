"""What every ParallelCluster can do, made here or elsewhere."""

from collections.abc import Sequence

import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.security_group import node_connections
from llm_fleet.parallelcluster.cluster_grants import ClusterGrants

_METRICS = "ParallelCluster"

_REMEDY = "give from_cluster_name the security_groups"


@jsii.implements(ec2.IConnectable)
class ClusterBase(Construct):
    """What every ParallelCluster can do. Subclasses set `cluster_name` and `_security_groups`."""

    cluster_name: str
    """Its name, which is also that of its own stack."""
    _security_groups: Sequence[ec2.ISecurityGroup] = ()
    _users: Sequence[str] | None = None
    """Login names that its nodes know; `None` where nobody can tell."""
    _connections: ec2.Connections | None = None

    @property
    def grants(self) -> ClusterGrants:
        """What others may do with it."""
        return ClusterGrants(self, self.cluster_name, users=self._users)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Security groups that its nodes are in, to open ports from and to them.

        Raises `FleetError` (LF572) for an imported one whose security groups nobody told.
        """
        if self._connections is None:
            self._connections = node_connections(self._security_groups, subject=self.node.path, remedy=_REMEDY)
        return self._connections

    def metric(self, metric_name: str, *, statistic: str = "Sum") -> cloudwatch.Metric:
        """Return a metric that ParallelCluster makes of the logs of this cluster, by the dimension `ClusterName`.

        E.g. `InsufficientCapacityErrors`, `OnNodeConfiguredRunErrors`, `GpuHealthCheckFailures`: those of
        pcluster/templates/cw_dashboard_builder.py. Default: the sum of five minutes.
        """
        return cloudwatch.Metric(
            namespace=_METRICS,
            metric_name=metric_name,
            dimensions_map={"ClusterName": self.cluster_name},
            statistic=statistic,
        )
