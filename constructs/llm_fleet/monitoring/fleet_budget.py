"""What a fleet may cost in a month, and what happens then."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.monitoring import fleet_budget_facts
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
