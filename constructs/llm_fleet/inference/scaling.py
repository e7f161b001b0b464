"""How many tasks serve a model."""

from dataclasses import dataclass

from llm_fleet.rules.inference.scaling import check_scaling, default_desired
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Scaling:
    """How many tasks a service has, each with an instance to itself.

    `Scaling(desired=2)` is always two. `Scaling(minimum=2, maximum=6)` is two to six, by the load.
    """

    desired: int
    """How many tasks where the number is fixed, and what `minimum` and `maximum` are when they are not told."""
    minimum: int | None
    """Never fewer; `None` is `desired`. A service that scales begins with as many."""
    maximum: int | None
    """Never more; `None` is `desired`, so that nothing scales."""
    queue_target: float | None
    """Requests that may wait in a task on average; `None` is the catalog's."""
    requests_per_minute_target: float | None
    """Requests a minute that one task shall get, in place of the queue; `None` follows the queue."""

    def __init__(
        self,
        *,
        desired: int | None = None,
        minimum: int | None = None,
        maximum: int | None = None,
        queue_target: float | None = None,
        requests_per_minute_target: float | None = None,
    ) -> None:
        """Check and keep the numbers.

        - `desired`: default the minimum, else 2 (never more than the maximum). Two, because an update replaces one
          while the other serves, and the loss of a host or of an AZ is not the end. Where the number scales, a new
          service begins with `minimum`, and the load decides: CloudFormation would put its own number back at each
          update.
        - `minimum`: default `desired`.
        - `maximum`: default `desired`: nothing scales, and no bill surprises, until somebody asks for it.
        - `queue_target`: default 1. The number of tasks follows the requests in each task, running and waiting, towards
          the batch and this many more.
        - `requests_per_minute_target`: default none. For a server whose metrics cannot be had; it knows nothing of how
          long an answer is.

        Raises `FleetError` for a number below 1 (LF770), numbers outside of each other (LF771), a target that is no
        number above 0 (LF772), two targets (LF773) and a target of a number that never changes (LF774).
        """
        values = {
            "desired": default_desired(minimum, maximum) if desired is None else desired,
            "minimum": minimum,
            "maximum": maximum,
            "queue_target": queue_target,
            "requests_per_minute_target": requests_per_minute_target,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        raise_problems(check_scaling(self), subject="Scaling")
