"""The role that hosts of a service act with."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Permission, characters_of, reasons_of, statement_of
from llm_fleet.rules.node_policy import policy_size
from llm_fleet.rules.problem import raise_problems


class HostRole(Construct):
    """A role for EC2 instances with statements of its own, and its instance profile."""

    def __init__(self, scope: Construct, id: str, *, permissions: Sequence[Permission], description: str) -> None:
        """Make the role. Raises `FleetError` when the statements are longer than IAM takes."""
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        raise_problems(policy_size(characters_of(self.permissions)), subject=self.node.path)
        # A managed policy of its own exists before the role does: no host starts without its permissions.
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[statement_of(each) for each in self.permissions]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("ec2.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.role = cast(iam.IRole, role)
        """The role itself."""
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[role.role_name])
        """What EC2 hands to an instance."""
