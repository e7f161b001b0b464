"""What the rules of a training job's runs ask of them; the construct's values and the fleet file's have this shape."""

from collections.abc import Mapping
from typing import Protocol


class JobScheduleLike(Protocol):
    """When the job is started by itself (`JobSchedule`)."""

    @property
    def expression(self) -> str:
        """`cron(…)`, `rate(…)` or `at(…)`."""
        ...

    @property
    def time_zone(self) -> str:
        """Its IANA name."""
        ...

    @property
    def hyperparameters(self) -> Mapping[str, str]:
        """What scheduled runs have otherwise."""
        ...


class CapacityRetriesLike(Protocol):
    """What happens when there are no machines (`CapacityRetries`)."""

    @property
    def attempts(self) -> int | None:
        """Further jobs after the first; `None` is the catalog's."""
        ...

    @property
    def first_wait_seconds(self) -> int | None:
        """Before the second; `None` is the catalog's."""
        ...

    @property
    def longest_wait_seconds(self) -> int | None:
        """However often it was doubled; `None` is the catalog's."""
        ...
