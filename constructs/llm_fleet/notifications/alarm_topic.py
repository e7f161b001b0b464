"""The SNS topic of alarms, chat channels, and a monthly budget with the action that prevents new instances.

Chat channels use Amazon Q Developer in chat applications (formerly AWS Chatbot).

assumption: chats-and-mails-arrive
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import chat_facts, fleet_budget_facts
from llm_fleet.spec.monitoring import Chat, FleetBudget, SlackChannel

if TYPE_CHECKING:
    from aws_cdk.aws_codestarnotifications import NotificationRuleTargetConfig

    from llm_fleet.spec.endpoint_operations import EndpointBudget

_CLOUDWATCH = "cloudwatch.amazonaws.com"


class AlarmTopic(sns.Topic):
    """An encrypted SNS topic that CloudWatch alarms of this account can publish to; `allow` adds other services.

    With SNS's own key, `alias/aws/sns`, alarms would be lost without an error: CloudWatch cannot use it
    (docs.aws.amazon.com/sns/latest/dg/sns-key-management.html). It has no data, and is deleted with its stack.
    """

    def __init__(self, scope: Construct, id: str, *, encryption_key: kms.IKey | None = None) -> None:
        """Create a topic; subscribe to it with `add_subscription`.

        `encryption_key`: default: a new one, which rotates every year. An imported key must let CloudWatch
        decrypt and generate data keys: its policy cannot be changed in this app.
        """
        key = encryption_key or kms.Key(
            scope,
            f"{id}Key",
            description="Encrypts alarm notifications",
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
        """Let `service`, e.g. `budgets.amazonaws.com`, publish here for this account; `sid`: statement id.

        Only the topic's policy has the condition on the account: without `sns:Publish` the key is of no use to
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
        # The CDK's parameter names differ between Topic and ITopic, so type checkers report an incompatibility.
        # fmt: off
        def add_subscription(self, subscription: sns.ITopicSubscription) -> sns.Subscription: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def bind_as_notification_rule_target(self, scope: Construct) -> "NotificationRuleTargetConfig": ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def grant_publish(self, identity: iam.IGrantable) -> iam.Grant: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        def grant_subscribe(self, identity: iam.IGrantable) -> iam.Grant: ...  # pyright: ignore[reportIncompatibleMethodOverride]  # noqa: D102
        # fmt: on


_CHATBOT = "chatbot.amazonaws.com"
_LEVEL = "ERROR"


class ChatConfiguration(Construct):
    """A chat channel with a topic's notifications. Its members can view alarms and graphs, but change nothing.

    The role's policy is also the channel's guardrail: a wider policy on the role would have no effect.
    """

    def __init__(self, scope: Construct, id: str, *, name: str, channel: Chat, topic: sns.ITopic) -> None:
        """Create it. `name`: configuration name, unique in an account."""
        super().__init__(scope, id)
        policy = iam.ManagedPolicy(
            self,
            "Looks",
            description="Permissions of a chat channel with alarms",
            statements=[iam.PolicyStatement(sid="LookAtAlarms", actions=list(chat_facts().reads), resources=["*"])],
        )
        acknowledge(
            policy,
            "CloudWatch supports no resource for metrics, and returns composite alarms only for the resource `*`.",
            "AwsSolutions-IAM5[Resource::*]",
        )
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        role = iam.Role(
            self,
            "Role",
            description="Role of a chat channel with alarms",
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


_Budget = budgets.CfnBudget


class CostBudget(Construct):
    """A monthly cost budget with filters.

    CloudFormation generates its name: a changed notification replaces the budget, which a fixed name would prevent.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        budget: "EndpointBudget | FleetBudget",
        filters: Mapping[str, list[str]] | None = None,
        topic: sns.ITopic | None = None,
    ) -> None:
        """Create it. `filters`: cost filters of AWS Budgets. Default: the whole account.

        `topic`: notified in addition to the email addresses; an imported one must let AWS Budgets publish.
        """
        super().__init__(scope, id)
        if isinstance(topic, AlarmTopic):
            topic.allow("budgets.amazonaws.com", sid="BudgetsOfThisAccount")
        readers = [
            *(_reader("SNS", one.topic_arn) for one in ([topic] if topic else [])),
            *(_reader("EMAIL", email) for email in budget.emails),
        ]
        forecasts = [("FORECASTED", 100)] if budget.forecast else []
        kinds = [*(("ACTUAL", share) for share in budget.at_percent), *forecasts]
        self.budget = _Budget(
            self,
            "Resource",
            budget=_Budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=_Budget.SpendProperty(amount=budget.monthly_usd, unit="USD"),
                cost_filters=dict(filters) if filters else None,
            ),
            notifications_with_subscribers=[
                _Budget.NotificationWithSubscribersProperty(
                    notification=_Budget.NotificationProperty(
                        notification_type=kind,
                        comparison_operator="GREATER_THAN",
                        threshold=share,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=readers,
                )
                for kind, share in kinds
            ],
        )
        """The L1 construct."""


def _reader(kind: str, address: str) -> _Budget.SubscriberProperty:
    return _Budget.SubscriberProperty(subscription_type=kind, address=address)


_Action = budgets.CfnBudgetsAction
_BUDGETS = "budgets.amazonaws.com"


class BudgetWithAction(CostBudget):
    """A budget that sends notifications, and can deny roles the permission to start instances.

    The deny policy remains until the action is reversed in the AWS Budgets console, or the next period begins.
    """

    def __init__(self, scope: Construct, id: str, *, budget: FleetBudget, topic: sns.ITopic) -> None:
        """Create it. `topic`: receives notifications; an imported one must let AWS Budgets publish."""
        tag = budget.tag
        super().__init__(
            scope,
            id,
            budget=budget,
            filters={"TagKeyValue": [f"user:{tag[0]}${tag[1]}"]} if tag else None,
            topic=topic,
        )
        # It depends on the topic's policy, without which AWS Budgets cannot publish to it.
        self.budget.node.add_dependency(topic)
        self.denial: iam.ManagedPolicy | None = None
        """The deny policy for the roles; `None` for a budget with notifications only."""
        if budget.deny_roles:
            self.denial = self._make_denial()
            self._make_action(budget, self.denial, topic)

    def _make_denial(self) -> iam.ManagedPolicy:
        policy = iam.ManagedPolicy(
            self,
            "Denial",
            description="AWS Budgets attaches it when the fleet's budget is exceeded: it denies new instances",
            statements=[
                iam.PolicyStatement(
                    sid="StartNothingMore",
                    effect=iam.Effect.DENY,
                    actions=list(fleet_budget_facts().denied),
                    resources=["*"],
                )
            ],
        )
        acknowledge(policy, "It is a Deny, so it applies to all resources.", "AwsSolutions-IAM5[Resource::*]")
        return policy

    def _make_action(self, budget: FleetBudget, denial: iam.ManagedPolicy, topic: sns.ITopic) -> None:
        readers = [
            _Action.SubscriberProperty(type="SNS", address=topic.topic_arn),
            *(_Action.SubscriberProperty(type="EMAIL", address=email) for email in budget.emails),
        ]
        _Action(
            self,
            "Action",
            action_threshold=_Action.ActionThresholdProperty(type="PERCENTAGE", value=100),
            action_type="APPLY_IAM_POLICY",
            approval_model="AUTOMATIC" if budget.deny and budget.deny.automatically else "MANUAL",
            budget_name=self.budget.ref,
            definition=_Action.DefinitionProperty(
                iam_action_definition=_Action.IamActionDefinitionProperty(
                    policy_arn=denial.managed_policy_arn, roles=list(budget.deny_roles)
                )
            ),
            execution_role_arn=self._execution_role(budget, denial).role_arn,
            notification_type="ACTUAL",
            subscribers=readers,
        )

    def _execution_role(self, budget: FleetBudget, denial: iam.ManagedPolicy) -> iam.Role:
        stack = cdk.Stack.of(self)
        mine = iam.ServicePrincipal(_BUDGETS).with_conditions({"StringEquals": {"aws:SourceAccount": stack.account}})
        roles = [
            stack.format_arn(service="iam", region="", resource="role", resource_name=name)
            for name in budget.deny_roles
        ]
        policy = iam.ManagedPolicy(
            self,
            "MayDeny",
            description="Lets AWS Budgets attach the deny policy to the roles of the fleet",
            statements=[
                iam.PolicyStatement(
                    sid="AttachTheDenial",
                    actions=["iam:AttachRolePolicy", "iam:DetachRolePolicy"],
                    resources=roles,
                    conditions={"ArnEquals": {"iam:PolicyARN": denial.managed_policy_arn}},
                )
            ],
        )
        return iam.Role(
            self,
            "ActsAs",
            description="Role of AWS Budgets for the action when the budget is exceeded",
            assumed_by=cast(iam.IPrincipal, mine),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
