"""What a fleet may cost in a month, and what happens then."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.catalog.monitoring import fleet_budget_facts
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Dollars


class BudgetDenialConfig(FleetModel):
    """Who may start nothing more once the budget is spent. What runs, runs on."""

    roles: tuple[str, ...] = ()
    """Names of roles that may start no clusters, jobs, endpoints and instances any more: one at least."""
    automatically: bool = False
    """Whether it happens by itself. Default: a person approves it in the console of AWS Budgets."""


class FleetBudgetConfig(FleetModel):
    """A monthly sum, who is told when it is used up, and who may start nothing more then (`FleetBudgetLike`)."""

    written_as: ClassVar[Mapping[str, str]] = {"deny_roles": "deny"}
    other_words: ClassVar[Mapping[str, str]] = {"action": "write `deny: {roles: […]}`"}

    monthly_usd: Dollars = Field(alias="monthly", examples=["20000 USD"])
    """The sum of a calendar month, e.g. `20000 USD`."""
    at_percent: tuple[float, ...] = fleet_budget_facts().at_percent
    """Shares of it at which somebody is told. Default: 50, 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected. Default: yes."""
    emails: tuple[str, ...] = ()
    """Who is told by e-mail, beside the topic of `alarms`. Default: nobody."""
    tag: str | None = None
    """Key of `tags` by which costs are counted; it must be activated for billing, or nothing counts.

    Default: all of the account.
    """
    deny: BudgetDenialConfig | None = None
    """Who may start nothing more once it is spent. Default: nobody is kept from it; it only tells."""

    @property
    def deny_roles(self) -> tuple[str, ...]:
        """Names of those roles; none where it only tells."""
        return self.deny.roles if self.deny else ()
