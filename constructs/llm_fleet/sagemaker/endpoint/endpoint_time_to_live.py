"""How long an endpoint lives."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_lifetime import PARTS, check_lifetime_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTimeToLive:
    """After how long an endpoint is deleted, with its configuration and its model, so that it stops costing.

    It counts from the endpoint's creation, which an update does not change. `seconds`, `minutes`, `hours` and
    `days` add up.

    Raises `FleetError` (LF954) for nothing, and for less than 15 minutes or more than 365 days.
    """

    seconds: int = 0
    """Whole seconds; it is looked every 15 minutes."""
    minutes: int = 0
    """Whole minutes."""
    hours: int = 0
    """Whole hours."""
    days: int = 0
    """Whole days."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        problems = check_lifetime_parts(seconds=self.seconds, minutes=self.minutes, hours=self.hours, days=self.days)
        raise_problems(problems, subject="EndpointTimeToLive")

    @property
    def total_seconds(self) -> int:
        """The whole of it."""
        return sum(worth * getattr(self, part) for part, worth in PARTS.items())
