"""What ECS may do to start a task, and what the task itself may do. Each statement with its reason."""

from collections.abc import Sequence

from llm_fleet.iam.resource_permissions import pull_images
from llm_fleet.iam.statements import Permission


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
        Permission(
            sid="Shell",
            actions=(
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ),
            resources=("*",),
            reason="ECS Exec reaches a container through Session Manager; these actions know no resource",
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
