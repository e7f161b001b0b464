"""The log of an inference service: what its containers print, and what is typed in their shells."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import task_limits

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
        self.log_group = logs.CfnLogGroup(
            self,
            "Resource",
            log_group_name=f"{_PREFIX}/{service_name}",
            retention_in_days=retention_days,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        """The L1 beneath."""
        self.encrypted = encryption_key is not None
        """Whether it is encrypted with a key of the user's."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        if encryption_key is None:
            acknowledge(
                self,
                "CloudWatch Logs encrypts every log group with a key of its own; servers log sizes and times of "
                "requests, and no prompt unless told to; `encryption_key` takes another",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )

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
