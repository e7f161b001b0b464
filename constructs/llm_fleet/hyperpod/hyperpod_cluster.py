"""A SageMaker HyperPod cluster that runs Slurm."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.hyperpod.cluster import Cluster, ImportedCluster, cluster_arn_problems, render_cluster
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.hyperpod.cluster_wiring import (
    add_bundle,
    add_node_role,
    efa_clients,
    open_ports,
    security_groups_of,
    wait_for,
)
from llm_fleet.iam.node_role import NodeRole
from llm_fleet.lifecycle.cluster_metrics import MetricsLog
from llm_fleet.lifecycle.node_setup import count_efa_clients
from llm_fleet.lifecycle.people import claim_ids
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs


@jsii.implements(iam.IGrantable)
class HyperPodCluster(Cluster):
    """A SageMaker HyperPod cluster that runs Slurm (`AWS::SageMaker::Cluster`).

    Everything that HyperPod would reject at deployment is checked when the construct is created, and reported in
    one `FleetError`, before any resource exists in the template. It is an `ec2.IConnectable` (its nodes) and an
    `iam.IGrantable` (its nodes' role).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: HyperPodClusterSpec,
        *,
        network: Network | None,
        fleet_name: str | None = None,
        lustre: MountableLustre | None = None,
        lustre_mount_path: str = "/fsx",
        open_zfs: MountableOpenZfs | None = None,
        open_zfs_mount_path: str = "/home",
        role: iam.IRole | iam.Role | None = None,
        read_buckets: Sequence[s3.IBucket] = (),
        write_buckets: Sequence[s3.IBucket] = (),
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        """Create the cluster; raise `FleetError` with all its problems.

        `spec`: its instance groups, in the order of the template, their provisioning, and the software and users of
        their nodes. A name generated from the construct's path stays the same from one deployment to the next; moving
        the cluster to another VPC or subnet replaces it, and needs another name.

        `network`: the network of its nodes. `None` is a VPC that SageMaker manages: no file system, no EFA rules.

        `fleet_name`: the fleet that it belongs to, written to its nodes' configuration. Default: the cluster's name.

        `lustre`, `open_zfs`: mounted by every node, at `/fsx` and `/home` by default. Default: none.

        `role`: the execution role of nodes. Default: a role with only the permissions that the features in use need.

        `read_buckets`, `write_buckets`: data for the nodes; with a `role` of your own, grant it yourself.

        `removal_policy`: default, the cluster is deleted with its stack; its data is in the file system, which is
        retained.
        """
        super().__init__(scope, id)
        plan = ClusterPlan.make(
            self,
            spec=spec,
            network=network,
            fleet_name=fleet_name,
            lustre=lustre,
            lustre_mount_path=lustre_mount_path,
            open_zfs=open_zfs,
            open_zfs_mount_path=open_zfs_mount_path,
        )
        claim_ids(self, spec.users, (lustre, open_zfs))
        if lustre is not None and lustre.efa_enabled:
            count_efa_clients(self, lustre, efa_clients(plan))
        self.cluster_name: str = plan.cluster_name
        """Its name; part of its log group `/aws/sagemaker/Clusters/<name>/<id>`."""
        self.groups: tuple[InstanceGroup, ...] = tuple(plan.shape.groups)
        """Its groups with every default filled in."""
        self._security_groups = security_groups_of(self, plan)
        self._users = spec.known_users
        bundle = add_bundle(self, plan)
        node_role = None if role else add_node_role(self, plan, bundle, read_buckets, write_buckets)
        self.role: iam.IRole | iam.Role = role or cast(NodeRole, node_role).role
        """The execution role of its nodes."""
        rules = open_ports(self, plan, self._security_groups)
        self.resource: sagemaker.CfnCluster = render_cluster(self, plan, bundle, role_arn=self.role.role_arn)
        """The L1, as an escape hatch."""
        self.resource.apply_removal_policy(removal_policy)
        wait_for(self.resource, plan, node_role or self.role, rules)
        metrics_log = MetricsLog.of(self, spec.metrics, cluster_name=plan.cluster_name)
        if metrics_log is not None:
            self.resource.node.add_dependency(metrics_log)
        self.cluster_arn = self.resource.attr_cluster_arn

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """The nodes' role, so that `bucket.grant_read(cluster)` lets jobs read."""
        return self.role.grant_principal

    def ssm_target(self, group: str | None = None, instance_id: str = "<instance-id>") -> str:
        """Return the `--target` of `aws ssm start-session` for a node of `group`.

        Default: the login group, else the controller's. Raises `FleetError` (LF574) for a group that does not exist.
        """
        names = [known.name for known in sorted(self.groups, key=lambda known: _WAYS.index(known.node_type))]
        name = names[0] if group is None else group
        if name not in names:
            problem = Problem(
                code=Code.CLUSTER_GROUP_UNKNOWN,
                message="the cluster has no such group",
                value=name,
                path=("group",),
                allowed=", ".join(names),
                remedy=did_you_mean(name, names, otherwise="set one of its groups"),
            )
            raise_problems([problem], subject=self.node.path)
        return super().ssm_target(name, instance_id)

    def add_outputs(self) -> None:
        """Add stack outputs: the cluster's name, id and ARN, and the SSM target without the instance id."""
        cdk.CfnOutput(self, "ClusterName", value=self.cluster_name, description="Name of the HyperPod cluster")
        cdk.CfnOutput(self, "ClusterId", value=self.cluster_id, description="Id of the HyperPod cluster")
        cdk.CfnOutput(self, "ClusterArn", value=self.cluster_arn, description="ARN of the HyperPod cluster")
        cdk.CfnOutput(
            self,
            "SsmTarget",
            value=self.ssm_target(),
            description="--target of aws ssm start-session; aws sagemaker list-cluster-nodes lists the instance ids",
        )

    @classmethod
    def from_cluster_arn(cls, scope: Construct, id: str, cluster_arn: str) -> Cluster:
        """Return the existing cluster of that ARN. Raises `FleetError` (LF573) for another kind of ARN."""
        return cls.from_cluster_attributes(scope, id, cluster_arn=cluster_arn)

    @classmethod
    def from_cluster_attributes(
        cls,
        scope: Construct,
        id: str,
        *,
        cluster_arn: str,
        security_groups: Sequence[ec2.ISecurityGroup] = (),
    ) -> Cluster:
        """Return the existing cluster of that ARN, whose nodes are in `security_groups`.

        Default: their security groups are unknown, and `connections` raises. Raises `FleetError` (LF573) for
        another kind of ARN.
        """
        raise_problems(cluster_arn_problems(cluster_arn), subject=f"{scope.node.path}/{id}")
        return ImportedCluster(scope, id, cluster_arn=cluster_arn, security_groups=security_groups)


_WAYS = (NodeType.LOGIN, NodeType.CONTROLLER, NodeType.COMPUTE)
"""The group in which users should log in, the best first."""
