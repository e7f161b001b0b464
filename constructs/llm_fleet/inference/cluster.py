"""The ECS cluster of a service, the name of its capacity provider, its log, and the record of why its tasks stopped."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.catalog.service import task_limits
from llm_fleet.logs import SERVERS_LOG, log_group

_PREFIX = "/llm-fleet/inference"


class ServiceLog(Construct):
    """A log group for one service. It goes with the stack: it bears witness to nothing that outlives the service."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make the group `/llm-fleet/inference/<service_name>`.

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
        """The L1 beneath."""
        self.encrypted = encryption_key is not None
        """Whether it is encrypted with a key of the user's."""

    @property
    def arn(self) -> str:
        """The ARN of all streams of the group; ends with `:*`."""
        return self.log_group.attr_arn

    @property
    def group_arn(self) -> str:
        """The ARN of the group itself, for the ARNs of single streams."""
        return cdk.Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=self.log_group.ref,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def driver(self, stream_prefix: str) -> ecs.CfnTaskDefinition.LogConfigurationProperty:
        """Return the log driver of a container, which writes to streams `<stream_prefix>/<container>/<task>`.

        Non-blocking: a server must not stand still while CloudWatch Logs cannot be reached; what does not fit in the
        buffer meanwhile is lost.
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
    """Return the cluster `Cluster` in `scope`; with `record_shells` what is typed by ECS Exec goes into `log`.

    A cluster of its own for each service: it costs nothing, its capacity provider goes with it, and no task of another
    service is ever placed on a host whose accelerator is taken.
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
        # Tasks and containers by themselves, beside the sums: a leak of memory is seen before the kernel ends a server.
        cluster_settings=[ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="enhanced")],
        configuration=shells if record_shells else None,
        tags=[cdk.CfnTag(key="Name", value=name)],
    )


_BEGINNING = "cp-"
_LENGTH = 255


def capacity_provider_name(scope: Construct) -> str | None:
    """Return a name for the capacity provider of `scope`, or `None`: CloudFormation makes one of the stack's name.

    That would fail in a stack like `ecs-services`. A name of ours is only given there: CloudFormation cannot replace
    what has one.
    """
    stack = cdk.Stack.of(scope).stack_name
    if cdk.Token.is_unresolved(stack) or not stack.lower().startswith(task_limits().provider_prefixes):
        return None
    rest = cdk.Names.unique_resource_name(
        scope, max_length=_LENGTH - len(_BEGINNING), separator="-", allowed_special_characters="-_"
    )
    return f"{_BEGINNING}{rest}"


_PRINCIPALS = ["events.amazonaws.com", "delivery.logs.amazonaws.com"]
"""Who writes events into log groups (docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html)."""


class TaskEvents(Construct):
    """Writes each stopped task of a service into a log group: its stop code, its reason, its containers' exit codes.

    EventBridge writes there by a resource policy of CloudWatch Logs, of which a region has ten in an account.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_arn: str,
        service_name: str,
        log_group: logs.CfnLogGroup,
    ) -> None:
        """Record the tasks of `service_name` in the cluster at `cluster_arn` to `log_group`."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        log_group_arn = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.ref,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        self.rule = events.CfnRule(
            self,
            "Rule",
            description=f"Stopped tasks of {service_name}",
            event_pattern={
                "source": ["aws.ecs"],
                "detail-type": ["ECS Task State Change"],
                "detail": {
                    "clusterArn": [cluster_arn],
                    "group": [f"service:{service_name}"],
                    "lastStatus": ["STOPPED"],
                },
            },
            targets=[events.CfnRule.TargetProperty(id="LogGroup", arn=log_group_arn)],
        )
        """The L1 of the rule."""
        self.policy = logs.CfnResourcePolicy(
            self,
            "Policy",
            policy_name=f"llm-fleet-{service_name}-task-events",
            policy_document=stack.to_json_string(_policy(f"{log_group_arn}:*", rule_arn=self.rule.attr_arn)),
        )
        """The L1 of the policy that lets EventBridge write."""


def _policy(streams: str, *, rule_arn: str) -> dict[str, object]:
    """Creating a stream carries no source, so only writing is bound to the rule, as EventBridge's guide has it."""
    who = {"Effect": "Allow", "Principal": {"Service": _PRINCIPALS}, "Resource": streams}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "MakeStreams", **who, "Action": "logs:CreateLogStream"},
            {
                "Sid": "WriteEvents",
                **who,
                "Action": "logs:PutLogEvents",
                "Condition": {"ArnEquals": {"aws:SourceArn": rule_arn}},
            },
        ],
    }
