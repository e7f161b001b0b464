"""A role that tasks of ECS act with."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.statements import Permission, reasons_of, statement_of

_PRINCIPAL = "ecs-tasks.amazonaws.com"


class EcsRole(Construct):
    """A role that only tasks of this account and region take, with these permissions and no other.

    Its policy is a managed one: CloudFormation makes it before the role, so no task starts without its permissions.
    """

    def __init__(self, scope: Construct, id: str, *, description: str, permissions: Sequence[Permission]) -> None:
        """Make the role; without any permission it has no policy either."""
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        policies = [self._policy(description)] if self.permissions else []
        role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=cast(iam.IPrincipal, _tasks_of(cdk.Stack.of(self))),
            managed_policies=[cast(iam.IManagedPolicy, policy) for policy in policies],
        )
        self.role: iam.IRole = cast(iam.IRole, role)
        """The role itself."""

    def _policy(self, description: str) -> iam.ManagedPolicy:
        policy = iam.ManagedPolicy(
            self, "Policy", description=description, statements=[*map(statement_of, self.permissions)]
        )
        acknowledge_wildcards(policy, lambda: reasons_of(self.permissions))
        return policy


def _tasks_of(stack: cdk.Stack) -> iam.PrincipalBase:
    """Only tasks of this account and region: the guide on task roles asks for both, against a confused deputy.

    (docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html)
    """
    return iam.ServicePrincipal(
        _PRINCIPAL,
        conditions={
            "StringEquals": {"aws:SourceAccount": stack.account},
            "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:ecs:{stack.region}:{stack.account}:*"},
        },
    )
