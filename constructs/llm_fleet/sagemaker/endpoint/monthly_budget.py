"""Tells when an endpoint costs more than it should."""

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget

_Budget = budgets.CfnBudget


class MonthlyBudget(Construct):
    """A budget of AWS Budgets over what SageMaker costs in a month, in the account or for one endpoint.

    CloudFormation names it: a changed notification replaces a budget, which no name of ours would let it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        budget: EndpointBudget,
        endpoint_name: str,
        topic: sns.ITopic | None = None,
    ) -> None:
        """Make it. `topic`: told beside the budget's e-mail addresses; one that was imported must let Budgets write."""
        super().__init__(scope, id)
        if isinstance(topic, AlarmTopic):
            topic.allow("budgets.amazonaws.com", sid="BudgetsOfThisAccount")
        readers = [
            *(_reader("SNS", one.topic_arn) for one in ([topic] if topic else [])),
            *(_reader("EMAIL", email) for email in budget.emails),
        ]
        forecast = [("FORECASTED", 100)] if budget.forecast else []
        kinds = [*(("ACTUAL", share) for share in budget.at_percent), *forecast]
        self.budget = _Budget(
            self,
            "Resource",
            budget=_Budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=_Budget.SpendProperty(amount=budget.monthly_usd, unit="USD"),
                cost_filters=_filters(budget, endpoint_name),
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


def _filters(budget: EndpointBudget, endpoint_name: str) -> dict[str, list[str]]:
    """Without an activated tag, a filter by it counts nothing: so the default is all of SageMaker."""
    facts = budget_facts()
    service = {"Service": [facts.service]}
    if not budget.tagged_only:
        return service
    return {**service, "TagKeyValue": [f"user:{facts.tag}${endpoint_name}"]}


def _reader(kind: str, address: str) -> _Budget.SubscriberProperty:
    return _Budget.SubscriberProperty(subscription_type=kind, address=address)
