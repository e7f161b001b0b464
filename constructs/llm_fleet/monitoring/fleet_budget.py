"""The budget of a fleet, and the action that stops new machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import fleet_budget_facts
from llm_fleet.notifications.cost_budget import CostBudget
from llm_fleet.rules.monitoring.fleet_budget import check_fleet_budget
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBudget:
    """A monthly sum, who is told when it is used up, and who may start nothing more then.

    It stops nothing that runs: AWS Budgets cannot stop HyperPod, jobs would lose what they did since their last
    checkpoint, and AWS bills hours to a day late. AWS itself counts every 8 to 12 hours.

    Raises `FleetError` for a sum that is none (LF1185), shares (LF1186), addresses (LF1182) and roles (LF1188) that
    are none.
    """

    monthly_usd: float
    """US dollars in a calendar month."""
    at_percent: Sequence[float] = fleet_budget_facts().at_percent
    """Shares of the sum at which somebody is told once it has been spent. Default: 50, 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected by the end of the month."""
    emails: Sequence[str] = ()
    """Who is told by e-mail, beside the topic: 10 addresses at most."""
    tag: tuple[str, str] | None = None
    """Key and value of the tag by which costs are counted. Default: all of the account.

    Before the tag is activated as a cost allocation tag in the billing console of the paying account, nothing counts,
    and nobody is ever told.
    """
    deny_roles: Sequence[str] = ()
    """Names of roles that may start no clusters, jobs, endpoints and instances any more once the sum is spent.

    AWS Budgets attaches a policy of ours to them that denies it; what runs, runs on. Default: none; it only tells.
    """
    deny_automatically: bool = False
    """Whether it does so by itself. Default: a person approves it in the console of AWS Budgets."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_fleet_budget(self), subject="FleetBudget")


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
            monthly_usd=budget.monthly_usd,
            at_percent=budget.at_percent,
            forecast=budget.forecast,
            emails=budget.emails,
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
            approval_model="AUTOMATIC" if budget.deny_automatically else "MANUAL",
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
