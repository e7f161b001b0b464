"""Roles of ECS tasks: what ECS may do to start a task, and what the task may do. Each statement with its reason."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.iam.resource_permissions import open_sessions, pull_images
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


def execution_permissions(
    *, repositories: Sequence[str], log_group_arn: str, secret_arns: Sequence[str], key_arns: Sequence[str]
) -> tuple[Permission, ...]:
    """Return what ECS's agent may do for a task: pull its images, write its log, read its secrets. Nothing else.

    `repositories`: ARNs of private repositories. `log_group_arn`: ends with `:*`, all streams of the group.
    `secret_arns`: what the containers get as secrets. `key_arns`: keys of those secrets.
    """
    return (
        *pull_images(repositories, reason="the agent pulls the images of the task, from no other repository"),
        Permission(
            sid="Log",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(log_group_arn,),
            reason="what the containers print goes into the log group of the service, and into no other; streams are "
            "named by ECS after the task",
        ),
        *_secrets(secret_arns, key_arns),
    )


def shell_permissions(*, log_group_arn: str) -> tuple[Permission, ...]:
    """Return what a task needs so that people may open a shell in it by ECS Exec, with its record."""
    return (
        open_sessions(
            "Shell", reason="ECS Exec reaches a container through Session Manager; these actions know no resource"
        ),
        Permission(
            sid="ShellGroups",
            actions=("logs:DescribeLogGroups",),
            resources=("*",),
            reason="the agent of ECS Exec looks for the log group of its record; the action knows no narrower resource",
        ),
        Permission(
            sid="ShellRecord",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(log_group_arn,),
            reason="what is typed in a shell is recorded in the log group of the service",
        ),
    )


def _secrets(secret_arns: Sequence[str], key_arns: Sequence[str]) -> tuple[Permission, ...]:
    if not secret_arns:
        return ()
    read = Permission(
        sid="Secrets",
        actions=("secretsmanager:GetSecretValue",),
        resources=tuple(dict.fromkeys(secret_arns)),
        reason="the agent hands the server its secrets when a task starts: what clients must show, the Hub's token",
    )
    if not key_arns:
        return (read,)
    decrypt = Permission(
        sid="SecretKeys",
        actions=("kms:Decrypt",),
        resources=tuple(dict.fromkeys(key_arns)),
        reason="a secret is encrypted with a key of its own",
    )
    return (read, decrypt)
