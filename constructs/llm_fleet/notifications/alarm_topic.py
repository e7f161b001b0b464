"""Where alarms go: a topic, and channels of Slack and Teams that hear it.

A chat is told by Amazon Q Developer in chat applications (once AWS Chatbot).

assumption: chats-and-mails-arrive
"""

from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import chat_facts
from llm_fleet.spec.monitoring import Chat, SlackChannel

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


_CHATBOT = "chatbot.amazonaws.com"
_LEVEL = "ERROR"


class ChatConfiguration(Construct):
    """A channel that hears a topic. Who writes there can look at alarms and graphs, and change nothing.

    The role's policy is the channel's guardrail too: were a wider one attached to the role, the channel gained nothing.
    """

    def __init__(self, scope: Construct, id: str, *, name: str, channel: Chat, topic: sns.ITopic) -> None:
        """Make it. `name`: the configuration's, one of a name in an account."""
        super().__init__(scope, id)
        policy = iam.ManagedPolicy(
            self,
            "Looks",
            description="What a chat that is told of alarms may look at",
            statements=[iam.PolicyStatement(sid="LookAtAlarms", actions=list(chat_facts().reads), resources=["*"])],
        )
        acknowledge(
            policy,
            "CloudWatch knows no resource for metrics, and shows composite alarms to who may look at all.",
            "AwsSolutions-IAM5[Resource::*]",
        )
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        role = iam.Role(
            self,
            "Role",
            description="What a chat that is told of alarms acts as",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal(_CHATBOT).with_conditions(account)),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        if isinstance(channel, SlackChannel):
            chatbot.CfnSlackChannelConfiguration(
                self,
                "Slack",
                configuration_name=name,
                iam_role_arn=role.role_arn,
                slack_workspace_id=channel.workspace_id,
                slack_channel_id=channel.channel_id,
                guardrail_policies=[policy.managed_policy_arn],
                logging_level=_LEVEL,
                sns_topic_arns=[topic.topic_arn],
            )
        else:
            chatbot.CfnMicrosoftTeamsChannelConfiguration(
                self,
                "Teams",
                configuration_name=name,
                iam_role_arn=role.role_arn,
                team_id=channel.team_id,
                teams_tenant_id=channel.tenant_id,
                teams_channel_id=channel.channel_id,
                guardrail_policies=[policy.managed_policy_arn],
                logging_level=_LEVEL,
                sns_topic_arns=[topic.topic_arn],
            )
