"""The attributes of a ParallelCluster, created here or imported, and IAM permissions on it."""

from collections.abc import Sequence
from typing import Protocol

import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from llm_fleet.iam.session_document import SessionGrants
from llm_fleet.iam.statements import NamedPolicy
from llm_fleet.network.security_group import node_connections

NAME_TAG = "parallelcluster:cluster-name"
"""The tag that ParallelCluster gives every instance of a cluster (`PCLUSTER_CLUSTER_NAME_TAG`)."""


class ClusterGrants(SessionGrants):
    """IAM permissions on a cluster. Each method returns a `Grant`; `success` can be false for an imported role."""

    def __init__(self, scope: IConstruct, cluster_name: str, *, users: Sequence[str] | None = None) -> None:
        """Grant on the cluster of that name, in the stack of `scope`. `users`: its nodes'; default, unknown."""
        super().__init__(scope, users)
        self._cluster_name = cluster_name

    def _start_sessions(self, grantee: iam.IGrantable, documents: Sequence[str]) -> iam.Grant:
        start = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=[self._arn("ec2", "instance", "*")],
            conditions={"StringEquals": {f"ssm:resourceTag/{NAME_TAG}": self._cluster_name}},
        )
        use = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=list(documents),
            # Without it Session Manager does not check whether the caller may use the default document.
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        )
        return start.combine(use)

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run commands on every node by Session Manager, which `llm-fleet jobs submit` and `logs` do.

        It can find the head node, too, for which EC2 lets it see all instances of the account: the action supports no
        resource. A session's commands can run as root: a principal with this grant has all permissions of a node.
        """
        session = self.ssm_session(grantee, documents=[self._command_arn()])
        find = iam.Grant.add_to_principal(grantee=grantee, actions=["ec2:DescribeInstances"], resource_arns=["*"])
        return session.combine(find)


class Cluster(Protocol):
    """A ParallelCluster, of this app or imported."""

    @property
    def cluster_name(self) -> str:
        """Its name, which is also that of its own stack."""
        ...

    @property
    def grants(self) -> ClusterGrants:
        """IAM permissions on it."""
        ...

    @property
    def connections(self) -> ec2.Connections:
        """Its nodes' security groups. Raises `FleetError` (LF572) if they are unknown."""
        ...


_METRICS = "ParallelCluster"

_REMEDY = "pass `security_groups` to from_cluster_name"


@jsii.implements(ec2.IConnectable)
class ClusterBase(Construct):
    """The base of all ParallelClusters. Subclasses set `cluster_name` and `_security_groups`."""

    cluster_name: str
    """Its name, which is also that of its own stack."""
    _security_groups: Sequence[ec2.ISecurityGroup] = ()
    _users: Sequence[str] | None = None
    """Login names that exist on its nodes; `None` if unknown."""
    _connections: ec2.Connections | None = None

    @property
    def grants(self) -> ClusterGrants:
        """IAM permissions on it."""
        return ClusterGrants(self, self.cluster_name, users=self._users)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Security groups that its nodes are in, to open ports from and to them.

        Raises `FleetError` (LF572) for an imported one whose security groups are unknown.
        """
        if self._connections is None:
            self._connections = node_connections(self._security_groups, subject=self.node.path, remedy=_REMEDY)
        return self._connections

    def metric(self, metric_name: str, *, statistic: str = "Sum") -> cloudwatch.Metric:
        """Return a metric that ParallelCluster creates from the logs of this cluster, by the dimension `ClusterName`.

        E.g. `InsufficientCapacityErrors`, `OnNodeConfiguredRunErrors`, `GpuHealthCheckFailures`: those of
        pcluster/templates/cw_dashboard_builder.py. Default: the sum over five minutes.
        """
        return cloudwatch.Metric(
            namespace=_METRICS,
            metric_name=metric_name,
            dimensions_map={"ClusterName": self.cluster_name},
            statistic=statistic,
        )


class ImportedCluster(ClusterBase):
    """A ParallelCluster that exists already. Made by `ParallelCluster.from_cluster_name`; creates nothing."""

    def __init__(
        self, scope: Construct, id: str, *, cluster_name: str, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> None:
        """Import the cluster by its name, and its nodes' security groups if given."""
        super().__init__(scope, id)
        self.cluster_name = cluster_name
        self._security_groups = tuple(security_groups)


@jsii.implements(iam.IPrincipal)
class NodesPrincipal:
    """All nodes of a cluster, as a grantee.

    ParallelCluster creates their roles, whose names are unknown at synth, so grants are added to the policies that the
    cluster attaches to them. A resource in another account, whose own policy must also name the nodes, cannot be
    granted this way.
    """

    def __init__(self, policies: Sequence[NamedPolicy], *, account: str) -> None:
        """Represent the nodes with these `policies`."""
        self._policies = tuple(policies)
        self._account = account

    @property
    def granted_policies(self) -> Sequence[iam.ManagedPolicy]:
        """The policies that grants go into."""
        return [policy.policy for policy in self._policies]

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """Itself."""
        return self  # pyright: ignore[reportReturnType]

    @property
    @jsii.member(jsii_name="assumeRoleAction")
    def assume_role_action(self) -> str:
        """Never used: no role is assumed as these nodes."""
        return "sts:AssumeRole"

    @property
    @jsii.member(jsii_name="policyFragment")
    def policy_fragment(self) -> iam.PrincipalPolicyFragment:
        """Raises `ValueError`: no policy of a resource can name roles that do not exist yet."""
        raise ValueError(
            "the nodes' roles are made by ParallelCluster and have no name at synth, so a resource policy cannot "
            "name them: grant the account, with a condition on the tag parallelcluster:cluster-name"
        )

    @property
    @jsii.member(jsii_name="principalAccount")
    def principal_account(self) -> str | None:
        """The cluster's account."""
        return self._account

    @jsii.member(jsii_name="addToPrincipalPolicy")
    def add_to_principal_policy(self, statement: iam.PolicyStatement) -> iam.AddToPrincipalPolicyResult:
        """Add `statement` to the policies of all nodes. Raises `ValueError` when a kind of nodes has none."""
        if not self._policies:
            raise ValueError(_NO_POLICIES)
        for policy in self._policies:
            policy.policy.add_statements(statement)
        return iam.AddToPrincipalPolicyResult(statement_added=True, policy_dependable=self._policies[0].policy)


_NO_POLICIES = (
    "the nodes have no policy to add to, because they run no scripts: set read_buckets or "
    "write_buckets, or set scripts, on the cluster"
)
