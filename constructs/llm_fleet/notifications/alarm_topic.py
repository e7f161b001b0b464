"""Who is told: the topic of alarms, and a monthly budget with the action that stops new machines.

A chat is told by Amazon Q Developer in chat applications (once AWS Chatbot).

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


_Budget = budgets.CfnBudget


class CostBudget(Construct):
    """A budget over what a month costs, by filters.

    CloudFormation names it: a changed notification replaces a budget, which no name of ours would let it.
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
        """Make it. `filters`: in AWS Budgets' words. Default: all of the account.

        `topic`: told beside the e-mail addresses; one that was imported must let Budgets write.
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
        """The L1 beneath."""


def _reader(kind: str, address: str) -> _Budget.SubscriberProperty:
    return _Budget.SubscriberProperty(subscription_type=kind, address=address)


_Action = budgets.CfnBudgetsAction
_BUDGETS = "budgets.amazonaws.com"


class BudgetWithAction(CostBudget):
    """A budget that tells, and takes from roles the right to start machines where the fleet wants that.

    The denial stays until the action is reversed in the console of AWS Budgets, or the next period begins.
    """

    def __init__(self, scope: Construct, id: str, *, budget: FleetBudget, topic: sns.ITopic) -> None:
        """Make it. `topic`: who is told; one that was imported must let Budgets write."""
        tag = budget.tag
        super().__init__(
            scope,
            id,
            budget=budget,
            filters={"TagKeyValue": [f"user:{tag[0]}${tag[1]}"]} if tag else None,
            topic=topic,
        )
        # With the topic's policy, without which AWS Budgets may not write to it.
        self.budget.node.add_dependency(topic)
        self.denial: iam.ManagedPolicy | None = None
        """What is attached to the roles; `None` for a budget that only tells."""
        if budget.deny_roles:
            self.denial = self._make_denial()
            self._make_action(budget, self.denial, topic)

    def _make_denial(self) -> iam.ManagedPolicy:
        policy = iam.ManagedPolicy(
            self,
            "Denial",
            description="Attached by AWS Budgets when the fleet's budget is spent: nothing new may be started",
            statements=[
                iam.PolicyStatement(
                    sid="StartNothingMore",
                    effect=iam.Effect.DENY,
                    actions=list(fleet_budget_facts().denied),
                    resources=["*"],
                )
            ],
        )
        acknowledge(policy, "It denies, and what it denies is denied everywhere.", "AwsSolutions-IAM5[Resource::*]")
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
            description="Lets AWS Budgets attach the denial to the roles that the fleet names, and nothing else",
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
            description="What AWS Budgets runs as when the fleet's budget is spent",
            assumed_by=cast(iam.IPrincipal, mine),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
