"""What an endpoint may cost in a month."""

from pydantic import Field

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.config.sagemaker.endpoint_values import Dollars
from llm_fleet.spec.model import FleetModel


class EndpointBudgetConfig(FleetModel):
    """A monthly sum, and who is told when it is used up (`EndpointBudgetLike`). It tells; it stops nothing."""

    monthly_usd: Dollars = Field(alias="monthly", examples=["200 USD"])
    """The sum of a calendar month, e.g. `200 USD`."""
    at_percent: tuple[float, ...] = budget_facts().at_percent
    """Shares of it at which somebody is told. Default: 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected. Default: yes."""
    emails: tuple[str, ...] = ()
    """Who is told by e-mail, beside the topic of `alarms`. Default: nobody."""
    tagged_only: bool = False
    """Whether only this endpoint counts, by its tag; the tag must be activated for billing, or nothing counts.

    Default: all of SageMaker in the account.
    """
