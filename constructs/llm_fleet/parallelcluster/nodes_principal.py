"""Grants to all nodes of a cluster at once."""

from collections.abc import Sequence

import jsii
from aws_cdk import aws_iam as iam

from llm_fleet.iam.statements import NamedPolicy


@jsii.implements(iam.IPrincipal)
class NodesPrincipal:
    """All nodes of a cluster, as whom something is granted to.

    Their roles are ParallelCluster's and have no name here, so what is granted goes into the policies that the cluster
    attaches to them. A resource in another account, whose own policy must name the nodes too, cannot be granted so.
    """

    def __init__(self, policies: Sequence[NamedPolicy], *, account: str) -> None:
        """Stand for the nodes that have one of `policies`."""
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
        """Never used: nobody assumes a role as these nodes."""
        return "sts:AssumeRole"

    @property
    @jsii.member(jsii_name="policyFragment")
    def policy_fragment(self) -> iam.PrincipalPolicyFragment:
        """Raises `ValueError`: no policy of a resource can name roles that do not exist yet."""
        raise ValueError(
            "the nodes' roles are made by ParallelCluster and have no name at synth, so a resource's own policy cannot "
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
    "the nodes have no policy that could be added to, because they run no scripts: give the cluster read_buckets or "
    "write_buckets, or let them run scripts"
)
