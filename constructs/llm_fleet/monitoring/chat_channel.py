"""Channels of Slack and Teams that alarms are sent to.

Tells a chat what a topic is told, by Amazon Q Developer in chat applications (once AWS Chatbot).

assumption: chats-and-mails-arrive
"""

from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import chat_facts
from llm_fleet.rules.monitoring.chat import check_slack, check_teams
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackChannel:
    """A channel of Slack. Its workspace is authorized once by hand, in the console of Amazon Q Developer.

    Raises `FleetError` (LF1183) for ids of another form.
    """

    workspace_id: str
    """Id of the workspace, e.g. `T0123456789`."""
    channel_id: str
    """Id of the channel, e.g. `C0123456789`; Amazon Q must be invited into a private one."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_slack(self), subject="SlackChannel")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsChannel:
    """A channel of Microsoft Teams. Its team is authorized once by hand, in the console of Amazon Q Developer.

    Raises `FleetError` (LF1183) for ids of another form.
    """

    team_id: str
    """A UUID: the `groupId` of the channel's link."""
    tenant_id: str
    """A UUID: the `tenantId` of the channel's link."""
    channel_id: str
    """What stands after `/channel/` in the channel's link, with its `%3a` and `%40`."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_teams(self), subject="TeamsChannel")


Chat = SlackChannel | TeamsChannel
"""A channel that is told."""


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
