"""Where alarms go."""

from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk.aws_codestarnotifications import NotificationRuleTargetConfig

_CLOUDWATCH = "cloudwatch.amazonaws.com"


class AlarmTopic(sns.Topic):
    """An encrypted SNS topic that CloudWatch's alarms of this account may write to; `allow` lets other services.

    With SNS's own key, `alias/aws/sns`, alarms would be lost without a word: CloudWatch may not use it
    (docs.aws.amazon.com/sns/latest/dg/sns-key-management.html). It holds nothing, and goes with its stack.
    """

    def __init__(self, scope: Construct, id: str, *, encryption_key: kms.IKey | None = None) -> None:
        """Make a topic; subscribe to it with `add_subscription`.

        `encryption_key`: default one of its own, which rotates every year. One that was imported must let CloudWatch
        decrypt and make data keys: its policy cannot be changed from here.
        """
        key = encryption_key or kms.Key(
            scope,
            f"{id}Key",
            description="Encrypts alarms on their way",
            enable_key_rotation=True,
            pending_window=cdk.Duration.days(7),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        key = cast(kms.IKey, key)
        super().__init__(scope, id, master_key=key, enforce_ssl=True)
        self._key = key
        self.key_arn: str = key.key_arn
        """ARN of the key that encrypts it."""
        self.allow(_CLOUDWATCH, sid="AlarmsOfThisAccount")

    def allow(self, service: str, *, sid: str) -> None:
        """Let `service`, e.g. `budgets.amazonaws.com`, publish here for this account; `sid` is of its statements.

        The condition on the account stands in the topic's policy alone: without `sns:Publish` the key is of no use to
        another account, and a key's condition that a service does not send would lose alarms without an error.
        assumption: sns-key-source-account
        """
        principal = cast(iam.IPrincipal, iam.ServicePrincipal(service))
        mine = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        self._key.add_to_resource_policy(
            iam.PolicyStatement(
                sid=sid,
                principals=[principal],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
            )
        )
        self.add_to_resource_policy(
            iam.PolicyStatement(
                sid=sid,
                principals=[principal],
                actions=["sns:Publish"],
                resources=[self.topic_arn],
                conditions=mine,
            )
        )

    if TYPE_CHECKING:
        # The CDK names these parameters otherwise in Topic than in ITopic: no type checker takes one for the other.
        # fmt: off
        def add_subscription(self, subscription: sns.ITopicSubscription) -> sns.Subscription: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def bind_as_notification_rule_target(self, scope: Construct) -> "NotificationRuleTargetConfig": ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def grant_publish(self, identity: iam.IGrantable) -> iam.Grant: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def grant_subscribe(self, identity: iam.IGrantable) -> iam.Grant: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        # fmt: on
