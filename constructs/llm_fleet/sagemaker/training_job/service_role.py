"""A role that one service of AWS takes, for this account only."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Permission, reasons_of, statement_of


class ServiceRole(Construct):
    """A role with these permissions and no other; its policy is a managed one, which is there before the role is."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service: str,
        description: str,
        permissions: Sequence[Permission],
        tells_account: bool = True,
    ) -> None:
        """Make the role that `service`, e.g. `states.amazonaws.com`, takes.

        `tells_account`: whether the service is documented to send `aws:SourceAccount`; then it takes the role on behalf
        of this account only. A condition on a key that is not sent would keep everything from starting.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[*map(statement_of, self.permissions)]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        mine = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}} if tells_account else None
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(service, conditions=mine)),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""
