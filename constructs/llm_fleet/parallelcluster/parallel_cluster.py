"""A cluster of AWS ParallelCluster that runs Slurm."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.lifecycle.cluster_metrics import MetricsLog
from llm_fleet.lifecycle.node_setup import count_efa_clients
from llm_fleet.lifecycle.people import claim_ids
from llm_fleet.network.network import Network
from llm_fleet.parallelcluster.cluster_base import Cluster, ClusterBase, ImportedCluster, NodesPrincipal
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan, FleetMounts
from llm_fleet.parallelcluster.cluster_resources import (
    ClusterIdentity,
    ClusterResources,
    UpdateCheck,
    claim_name,
    security_groups_of,
)
from llm_fleet.parallelcluster.render_configuration import efa_clients
from llm_fleet.rules.parallelcluster.cluster_settings import doubt_about_python
from llm_fleet.rules.parallelcluster.update_check import DeployedLike
from llm_fleet.spec.parallelcluster import ParallelClusterSpec
from llm_fleet.storage.file_systems import MountableLustre, MountableOpenZfs


@jsii.implements(iam.IGrantable)
class ParallelCluster(ClusterBase):
    """A cluster of AWS ParallelCluster that runs Slurm (`Custom::PclusterCluster`), created by AWS's own provider.

    Everything that ParallelCluster checks offline is checked when the construct is created, and reported in one
    `FleetError`, before any resource exists in the template. It is an `ec2.IConnectable` and an `iam.IGrantable` (its
    nodes).

    ParallelCluster can never change some settings of a cluster, all of the head node's hardware among them. A hash of
    these settings is part of the cluster's name and of its logical id, so that such a change creates a new cluster next
    to the old one, which is then deleted.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: ParallelClusterSpec,
        *,
        network: Network,
        lustre: MountableLustre | None = None,
        lustre_mount_path: str = "/fsx",
        open_zfs: MountableOpenZfs | None = None,
        open_zfs_mount_path: str = "/home",
        fleet_name: str | None = None,
        read_buckets: Sequence[s3.IBucket] = (),
        write_buckets: Sequence[s3.IBucket] = (),
        deployed: DeployedLike | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        """Create the cluster; raise `FleetError` with all its problems.

        `spec`: its nodes, storage and settings, and the software and users of its nodes. Its name in ParallelCluster is
        `cluster_name` followed by a hyphen and eight digits.

        `network`: the network of its nodes, which are in its private compute subnets. All of them are in its security
        group, in addition to ParallelCluster's own, so that file systems and databases allow them.

        `lustre`, `open_zfs`: the fleet's file systems, passed by id, so that they outlive the cluster; mounted at
        `/fsx` and `/home` by default. Default: none; /home is then on the head node.

        `fleet_name`: the fleet that it belongs to, written to its nodes' configuration. Default: the cluster's name.

        `read_buckets`, `write_buckets`: data for jobs, on every node. Default: none.

        `deployed`: the cluster as it was deployed last; synth then reports changes that an update would reject.
        Default: unknown, and a change that no update can apply creates a new cluster.

        `removal_policy`: default, the cluster is deleted with its stack; its data is in the file systems, which are
        retained. If it is retained, so is everything that it needs.
        """
        super().__init__(scope, id)
        plan = ClusterPlan.make(
            self,
            spec=spec,
            network=network,
            mounts=FleetMounts(
                lustre=lustre,
                lustre_mount_path=lustre_mount_path,
                open_zfs=open_zfs,
                open_zfs_mount_path=open_zfs_mount_path,
            ),
            fleet_name=fleet_name,
        )
        claim_ids(self, spec.users, (lustre, open_zfs))
        doubt = doubt_about_python(spec.os)
        if doubt:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:parallelcluster-python", doubt)
        if lustre is not None and lustre.efa_enabled:
            count_efa_clients(self, lustre, efa_clients(plan.shape))
        identity = ClusterIdentity.of(self, plan)
        claim_name(self, identity.cluster_name)
        resources = ClusterResources(
            self,
            plan,
            identity,
            read_buckets=read_buckets,
            write_buckets=write_buckets,
            removal_policy=removal_policy,
        )
        metrics_log = MetricsLog.of(self, spec.metrics, cluster_name=plan.shape.cluster_name)
        if metrics_log is not None:
            resources.resource.node.add_dependency(metrics_log)
        self.cluster_name: str = identity.cluster_name
        """Its name in ParallelCluster, with the hash; also the name of its own stack, and part of its log group's
        name."""
        self.version: str = spec.version
        """The version of ParallelCluster."""
        self.configuration: Mapping[str, Any] = resources.configuration
        """ParallelCluster's configuration, as in its YAML file; may contain tokens."""
        self.resource: cdk.CfnResource = resources.resource
        """The L1, as an escape hatch."""
        self.provider: cdk.CfnStack = resources.provider.resource
        """The nested stack of AWS's provider."""
        self.node.default_child = self.resource
        self._login_pools = [pool.name for pool in plan.shape.login_pools]
        self._resources = resources
        self._security_groups = security_groups_of(self, plan)
        self._users = spec.known_users
        if deployed is not None:
            UpdateCheck(self, self.configuration, deployed, cluster_name=self.cluster_name, spec=spec).attach()

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """All its nodes, so that `bucket.grant_read(cluster)` lets jobs read."""
        account = cdk.Stack.of(self).account
        return cast(iam.IPrincipal, NodesPrincipal(self._resources.rights.all, account=account))

    @property
    def head_node_instance_id(self) -> str:
        """The instance id of the head node, the `--target` of `aws ssm start-session`; a token."""
        return self.resource.get_att("headNode.instanceId").to_string()

    @property
    def head_node_private_ip(self) -> str:
        """The private address of the head node; a token."""
        return self.resource.get_att("headNode.privateIpAddress").to_string()

    def add_outputs(self) -> None:
        """Add stack outputs: name, head node, and the provider's log group, which has its errors."""
        outputs = {
            "ClusterName": (self.cluster_name, "Name of the ParallelCluster, and of its own stack"),
            "HeadNodeInstanceId": (self.head_node_instance_id, "--target of aws ssm start-session"),
            "HeadNodePrivateIp": (self.head_node_private_ip, "Private address of the head node"),
            "ProviderLogGroup": (self._resources.provider.log_group_arn, "Log group of ParallelCluster's provider"),
        }
        for name, (value, description) in outputs.items():
            cdk.CfnOutput(self, name, value=value, description=description)

    @classmethod
    def from_cluster_name(
        cls, scope: Construct, id: str, cluster_name: str, *, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> Cluster:
        """Return the existing cluster of that name, whose nodes are in `security_groups`.

        `cluster_name`: ParallelCluster's own, with the hash if it was made here. Default of `security_groups`:
        unknown, and `connections` raises.
        """
        return ImportedCluster(scope, id, cluster_name=cluster_name, security_groups=security_groups)
