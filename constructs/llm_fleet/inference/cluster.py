"""ECS cluster, capacity provider name, log group and roles of a service."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.catalog.service import task_limits
from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.resource_permissions import open_sessions, pull_images
from llm_fleet.iam.statements import Permission
from llm_fleet.logs import SERVERS_LOG, log_group, log_group_arn

_PREFIX = "/llm-fleet/inference"


class ServiceLog(Construct):
    """A log group for one service. It is deleted with the stack, like everything that it logs."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Create the log group `/llm-fleet/inference/<service_name>`.

        `encryption_key`: its policy must let CloudWatch Logs use it. `None`: CloudWatch Logs' own encryption.
        """
        super().__init__(scope, id)
        self.log_group = log_group(
            self,
            "Resource",
            name=f"{_PREFIX}/{service_name}",
            retention_days=retention_days,
            encryption_key=encryption_key,
            holds=SERVERS_LOG,
        )
        """The L1 construct."""
        self.encrypted = encryption_key is not None
        """Whether it is encrypted with the user's key."""

    @property
    def arn(self) -> str:
        """The ARN of the log group for all streams; ends with `:*`."""
        return self.log_group.attr_arn

    @property
    def group_arn(self) -> str:
        """The ARN of the log group without `:*`, for the ARNs of single streams."""
        return log_group_arn(self, self.log_group.ref)

    def driver(self, stream_prefix: str) -> ecs.CfnTaskDefinition.LogConfigurationProperty:
        """Return the log configuration of a container, which writes to streams `<stream_prefix>/<container>/<task>`.

        Non-blocking, so that a server continues when it cannot reach CloudWatch Logs; lines that do not fit into the
        buffer are lost then.
        """
        return ecs.CfnTaskDefinition.LogConfigurationProperty(
            log_driver="awslogs",
            options={
                "awslogs-group": self.log_group.ref,
                "awslogs-region": cdk.Stack.of(self).region,
                "awslogs-stream-prefix": stream_prefix,
                "mode": "non-blocking",
                "max-buffer-size": task_limits().log_buffer,
            },
        )


def render_cluster(scope: Construct, name: str, *, log: ServiceLog, record_shells: bool) -> ecs.CfnCluster:
    """Return the cluster `Cluster` in `scope`; with `record_shells`, ECS Exec logs sessions to `log`.

    Each service has its own cluster: it costs nothing, its capacity provider is deleted with it, and ECS never places
    another service's task on a host whose accelerator is in use.
    """
    shells = ecs.CfnCluster.ClusterConfigurationProperty(
        execute_command_configuration=ecs.CfnCluster.ExecuteCommandConfigurationProperty(
            logging="OVERRIDE",
            log_configuration=ecs.CfnCluster.ExecuteCommandLogConfigurationProperty(
                cloud_watch_log_group_name=log.log_group.ref,
                cloud_watch_encryption_enabled=log.encrypted,
            ),
        )
    )
    return ecs.CfnCluster(
        scope,
        "Cluster",
        cluster_name=name,
        # Metrics of each task and container show a memory leak before the kernel kills a server.
        cluster_settings=[ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="enhanced")],
        configuration=shells if record_shells else None,
        tags=[cdk.CfnTag(key="Name", value=name)],
    )


_BEGINNING = "cp-"
_LENGTH = 255


def capacity_provider_name(scope: Construct) -> str | None:
    """Return a name for the capacity provider of `scope`; `None`: CloudFormation generates one from the stack name.

    A generated name is invalid in a stack like `ecs-services`. Only then is a fixed name set, because CloudFormation
    cannot replace resources with one.
    """
    stack = cdk.Stack.of(scope).stack_name
    if cdk.Token.is_unresolved(stack) or not stack.lower().startswith(task_limits().provider_prefixes):
        return None
    rest = cdk.Names.unique_resource_name(
        scope, max_length=_LENGTH - len(_BEGINNING), separator="-", allowed_special_characters="-_"
    )
    return f"{_BEGINNING}{rest}"


def ecs_role(scope: Construct, id: str, *, description: str, permissions: Sequence[Permission]) -> ServiceRole:
    """Return a role that only tasks of this account and region can assume, as the guide on task roles recommends.

    This prevents the confused deputy problem (docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html).
    """
    stack = cdk.Stack.of(scope)
    conditions = {
        "StringEquals": {"aws:SourceAccount": stack.account},
        "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:ecs:{stack.region}:{stack.account}:*"},
    }
    return ServiceRole(
        scope,
        id,
        service="ecs-tasks.amazonaws.com",
        description=description,
        permissions=permissions,
        conditions=conditions,
    )


def execution_permissions(
    *, repositories: Sequence[str], log_group_arn: str, secret_arns: Sequence[str], key_arns: Sequence[str]
) -> tuple[Permission, ...]:
    """Return the execution role's permissions: pull images, write logs, read secrets.

    `repositories`: ARNs of private repositories. `log_group_arn`: ends with `:*`.
    `secret_arns`: secrets of the containers. `key_arns`: KMS keys of those secrets.
    """
    return (
        *pull_images(repositories, reason="the agent pulls the images of the task from these repositories only"),
        Permission(
            sid="Log",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(log_group_arn,),
            reason="the output of the containers goes only to the log group of the service; streams are "
            "named by ECS after the task",
        ),
        *_secrets(secret_arns, key_arns),
    )


def shell_permissions(*, log_group_arn: str) -> tuple[Permission, ...]:
    """Return a task's permissions for ECS Exec and its session logs."""
    return (
        open_sessions(
            "Shell", reason="ECS Exec reaches a container through Session Manager; these actions support no resource"
        ),
        Permission(
            sid="ShellGroups",
            actions=("logs:DescribeLogGroups",),
            resources=("*",),
            reason="the ECS Exec agent looks up its log group; the action supports no narrower resource",
        ),
        Permission(
            sid="ShellRecord",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(log_group_arn,),
            reason="ECS Exec logs shell sessions to the log group of the service",
        ),
    )


def _secrets(secret_arns: Sequence[str], key_arns: Sequence[str]) -> tuple[Permission, ...]:
    if not secret_arns:
        return ()
    read = Permission(
        sid="Secrets",
        actions=("secretsmanager:GetSecretValue",),
        resources=tuple(dict.fromkeys(secret_arns)),
        reason="the agent passes secrets to the server when a task starts: the API key and the Hub's token",
    )
    if not key_arns:
        return (read,)
    decrypt = Permission(
        sid="SecretKeys",
        actions=("kms:Decrypt",),
        resources=tuple(dict.fromkeys(key_arns)),
        reason="a secret is encrypted with its own key",
    )
    return (read, decrypt)
