"""The log of an endpoint's containers."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge

_PREFIX = "/aws/sagemaker/Endpoints"


class EndpointLog(Construct):
    """The log group that SageMaker writes to, made beforehand: one that SageMaker makes is kept for ever.

    It goes with the stack.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_name: str,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make the group. `encryption_key`: its policy must let CloudWatch Logs use it. `None`: Logs' own."""
        super().__init__(scope, id)
        self.group_name = f"{_PREFIX}/{endpoint_name}"
        """As SageMaker's guide on logs has it."""
        self.log_group = logs.CfnLogGroup(
            self,
            "Resource",
            log_group_name=self.group_name,
            retention_in_days=retention_days,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        """The L1 beneath."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        if encryption_key is None:
            acknowledge(
                self,
                "CloudWatch Logs encrypts every log group with a key of its own; servers log sizes and times of "
                "requests, and no prompt unless told to; `encryption_key` takes another",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )
