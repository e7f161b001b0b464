"""What every HyperPod cluster can do and grant, made here or elsewhere."""

import re
from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from llm_fleet.catalog.data_file import load
from llm_fleet.iam.session_document import SessionGrants
from llm_fleet.iam.statements import tell_reasons
from llm_fleet.network.security_group import node_connections
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_DESCRIBE = (
    "sagemaker:DescribeCluster",
    "sagemaker:DescribeClusterEvent",
    "sagemaker:DescribeClusterNode",
    "sagemaker:DescribeClusterOperation",
    "sagemaker:ListClusterEvents",
    "sagemaker:ListClusterNodes",
    "sagemaker:ListClusterOperations",
)
_MANAGE_NODES = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
    "sagemaker:StartClusterHealthCheck",
    "sagemaker:UpdateClusterSoftware",
)


class ClusterGrants(SessionGrants):
    """What others may do with a cluster. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, cluster: "Cluster", *, users: Sequence[str] | None = None) -> None:
        """Grant on `cluster`, in the stack of `scope`. `users`: of its nodes; default, nobody knows them."""
        super().__init__(scope, users)
        self._cluster = cluster

    def _start_sessions(self, grantee: iam.IGrantable, documents: Sequence[str]) -> iam.Grant:
        start = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=[self._cluster.cluster_arn, self._nodes_arn(), *documents],
            # Without it Session Manager does not ask whether the caller may use the default document.
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        )
        tell_reasons(grantee, {self._nodes_arn(): "nodes of this cluster alone; their ids do not exist before"})
        return start

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run commands on every node by Session Manager, which `llm-fleet jobs submit` and `logs` do.

        It can find the nodes, too. A session's commands run as root: whoever has this can do all that a node can.
        """
        return self.ssm_session(grantee, documents=[self._command_arn()]).combine(
            self._on_cluster(grantee, ("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"))
        )

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, its nodes, events and operations."""
        return self._on_cluster(grantee, _DESCRIBE)

    def manage_nodes(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, and add, remove, reboot, replace, test and update its nodes.

        It cannot change the cluster's shape or roles: `UpdateCluster` is not among them.
        """
        return self._on_cluster(grantee, (*_DESCRIBE, *_MANAGE_NODES))

    def _on_cluster(self, grantee: iam.IGrantable, actions: Sequence[str]) -> iam.Grant:
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=list(actions), resource_arns=[self._cluster.cluster_arn]
        )

    def _nodes_arn(self) -> str:
        """The nodes as Session Manager's managed instances, whose ids are `sagemaker-cluster:<id>_<group>-<instance>`.

        AWS's own page on HyperPod names this resource for `ssm:StartSession`, and no document names the cluster's ARN,
        so both are granted. assumption: hyperpod-start-session-resource
        """
        return self._arn("ssm", "managed-instance", f"sagemaker-cluster:{self._cluster.cluster_id}_*")


def cluster_arn_problems(arn: str) -> list[Problem]:
    """Return what is wrong with `arn` as a cluster's; nothing for a token."""
    if is_unresolved(arn) or re.fullmatch(load("cluster_arn")["pattern"], arn):
        return []
    return [
        Problem(
            code=Code.CLUSTER_ARN,
            message="this is no ARN of a HyperPod cluster",
            path=("cluster_arn",),
            value=arn,
            allowed="arn:aws:sagemaker:<region>:<account>:cluster/<id of 12 small letters and digits>",
            remedy="copy ClusterArn from `aws sagemaker describe-cluster --cluster-name …`",
        )
    ]


_REMEDY = "give HyperPodCluster a network, or from_cluster_attributes the security_groups"


@jsii.implements(ec2.IConnectable)
class Cluster(Construct):
    """A HyperPod cluster, made here or elsewhere. Subclasses set `cluster_arn` and `_security_groups`."""

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


class ImportedCluster(Cluster):
    """A HyperPod cluster that exists already. Made by `HyperPodCluster.from_…`; creates nothing."""

    def __init__(
        self, scope: Construct, id: str, *, cluster_arn: str, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> None:
        """Know the cluster by its ARN, and its nodes' security groups where told."""
        super().__init__(scope, id)
        self.cluster_arn = cluster_arn
        self._security_groups = tuple(security_groups)
