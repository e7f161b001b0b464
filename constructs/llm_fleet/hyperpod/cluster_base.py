"""What every HyperPod cluster can do, made here or elsewhere."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.hyperpod.cluster_grants import ClusterGrants
from llm_fleet.network.security_group import node_connections

_REMEDY = "give HyperPodCluster a network, or from_cluster_attributes the security_groups"


@jsii.implements(ec2.IConnectable)
class ClusterBase(Construct):
    """What every HyperPod cluster can do. Subclasses set `cluster_arn` and `_security_groups`."""

    cluster_arn: str
    """Its ARN; ends with the cluster id."""
    _security_groups: Sequence[ec2.ISecurityGroup] = ()
    _users: Sequence[str] | None = None
    """Login names that its nodes know; `None` where nobody can tell."""
    _connections: ec2.Connections | None = None

    @property
    def cluster_id(self) -> str:
        """Twelve letters and digits, part of every SSM target and log group; known at deploy time for a new one."""
        return cdk.Fn.select(1, cdk.Fn.split("/", self.cluster_arn))

    @property
    def grants(self) -> ClusterGrants:
        """What others may do with it."""
        return ClusterGrants(self, self, users=self._users)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Its nodes' security groups, to open ports from and to them.

        Raises `FleetError` (LF572) for a cluster without a network, or one whose security groups nobody told.
        """
        if self._connections is None:
            self._connections = node_connections(self._security_groups, subject=self.node.path, remedy=_REMEDY)
        return self._connections

    def ssm_target(self, group: str, instance_id: str = "<instance-id>") -> str:
        """Return the `--target` of `aws ssm start-session` for a node of `group`.

        `aws sagemaker list-cluster-nodes` tells the instance ids.
        """
        return f"sagemaker-cluster:{self.cluster_id}_{group}-{instance_id}"
