"""How much an endpoint may cost in a month before somebody is told."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.endpoint_operations import budget_facts
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_budget import check_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointBudget:
    """A monthly sum, and who is told when it is used up. It tells; it stops nothing: `time_to_live` does that.

    AWS bills with a delay of hours up to a day, so that it tells late.

    Raises `FleetError` for a sum that is none (LF955), for shares that are none or too many (LF956) and for addresses
    that are none (LF957).
    """

    monthly_usd: float
    """US dollars in a calendar month."""
    at_percent: Sequence[float] = budget_facts().at_percent
    """Shares of the sum at which somebody is told once it has been spent. Default: 80 and 100."""
    forecast: bool = True
    """Whether somebody is told as soon as the whole sum is to be expected by the end of the month."""
    emails: Sequence[str] = ()
    """Who is told by e-mail, beside the topic of the endpoint's alarms: 10 addresses at most."""
    tagged_only: bool = False
    """Whether only what bears the endpoint's tag `llm-fleet:endpoint` counts. Default: all of SageMaker in the account.

    Before that tag is activated as a cost allocation tag in the billing console of the paying account, nothing counts,
    and nobody is ever told.
    """

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_budget(self), subject="EndpointBudget")
