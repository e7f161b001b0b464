"""The KMS key of a fleet."""

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.held import hold

_LOG_GROUPS = "*"


class FleetKey(kms.Key):
    """A symmetric key that rotates every year, for the file systems, buckets and log groups of a fleet.

    It is retained: what it has encrypted is lost for ever without it. Deleting it by hand leaves
    30 days to think again. CloudWatch Logs may use it for the log groups of its own account and region, and for nothing
    else. Everybody else is allowed by IAM policies, or by the constructs that take the key.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        alias: str | None = None,
        description: str = "Encrypts the storage and logs of an LLM fleet",
        pending_window: cdk.Duration | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a key. `alias`: default none. `pending_window`: 7 to 30 days before a deletion is final; default 30."""
        super().__init__(
            scope,
            id,
            alias=alias,
            description=description,
            enable_key_rotation=True,
            pending_window=pending_window or cdk.Duration.days(30),
            removal_policy=removal_policy,
        )
        hold(self)
        stack = cdk.Stack.of(self)
        log_groups = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=_LOG_GROUPS,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        self.add_to_resource_policy(
            iam.PolicyStatement(
                # CloudWatch Logs has no other way to a key: its log groups encrypt as the service, not as a caller.
                sid="CloudWatchLogsOfThisAccountAndRegion",
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.{stack.url_suffix}")],  # pyright: ignore[reportArgumentType]
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": log_groups}},
            )
        )

    if TYPE_CHECKING:
        # The CDK names this parameter otherwise in Key than in IKey, so that no type checker takes a Key for an IKey.
        # For them only: a method of ours at run time would have jsii call back into Python.
        def add_alias(self, alias: str) -> kms.Alias: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
