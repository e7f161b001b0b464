"""A managed policy whose name others must know."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.iam.permission import Permission
from llm_fleet.iam.statements import characters_of, reasons_of, statement_of
from llm_fleet.rules.node_policy import policy_size
from llm_fleet.rules.problem import raise_problems


class NamedPolicy(Construct):
    """A managed policy with a name of ours, whose statements have reasons."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        description: str,
        permissions: Sequence[Permission],
        statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        """Make the policy of `permissions`, and of `statements` without any wildcard.

        `description` must not change: IAM would make a policy anew, and cannot beside one of the same name.
        Raises `FleetError` when it is longer than IAM takes.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        raise_problems(policy_size(characters_of(self.permissions)), subject=self.node.path)
        self.policy = iam.ManagedPolicy(
            self,
            "Resource",
            managed_policy_name=name,
            description=description,
            statements=[*map(statement_of, self.permissions), *statements],
        )
        """The policy itself."""
        acknowledge_wildcards(self.policy, lambda: reasons_of(self.permissions))
        for permission in self.permissions:
            wide = [f"AwsSolutions-IAM5[Action::{action}]" for action in permission.actions if "*" in action]
            if wide:
                acknowledge(self.policy, permission.reason, *wide)

    @property
    def arn(self) -> str:
        """The ARN, a token."""
        return self.policy.managed_policy_arn

    @property
    def resource(self) -> cdk.CfnResource:
        """The L1 beneath."""
        resource = self.policy.node.default_child
        if not isinstance(resource, cdk.CfnResource):
            raise TypeError(f"{self.node.path}: a managed policy without a resource")
        return resource
