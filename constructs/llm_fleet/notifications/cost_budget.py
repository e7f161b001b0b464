"""A monthly budget of AWS Budgets, and who is told of it."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.notifications.alarm_topic import AlarmTopic

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
        monthly_usd: float,
        at_percent: Sequence[float],
        forecast: bool,
        emails: Sequence[str],
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
            *(_reader("EMAIL", email) for email in emails),
        ]
        forecasts = [("FORECASTED", 100)] if forecast else []
        kinds = [*(("ACTUAL", share) for share in at_percent), *forecasts]
        self.budget = _Budget(
            self,
            "Resource",
            budget=_Budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=_Budget.SpendProperty(amount=monthly_usd, unit="USD"),
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
