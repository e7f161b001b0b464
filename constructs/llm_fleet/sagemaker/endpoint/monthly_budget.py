"""Tells when an endpoint costs more than it should."""

from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.notifications.cost_budget import CostBudget
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget


class MonthlyBudget(CostBudget):
    """A budget of AWS Budgets over what SageMaker costs in a month, in the account or for one endpoint."""

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
        super().__init__(
            scope,
            id,
            monthly_usd=budget.monthly_usd,
            at_percent=budget.at_percent,
            forecast=budget.forecast,
            emails=budget.emails,
            filters=_filters(budget, endpoint_name),
            topic=topic,
        )


def _filters(budget: EndpointBudget, endpoint_name: str) -> dict[str, list[str]]:
    """Without an activated tag, a filter by it counts nothing: so the default is all of SageMaker."""
    facts = budget_facts()
    service = {"Service": [facts.service]}
    if not budget.tagged_only:
        return service
    return {**service, "TagKeyValue": [f"user:{facts.tag}${endpoint_name}"]}
