"""How many tasks serve a model."""

from dataclasses import dataclass

from llm_fleet.rules.inference.scaling import check_scaling
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How many tasks a service has, each with an instance to itself.

    `Scaling(desired=2)` is always two. `Scaling(desired=2, maximum=6)` is two to six, by the load. Raises `FleetError`
    for numbers below 1 (LF770), outside of each other (LF771), targets that are none (LF772), two targets (LF773) and a
    target of a number that never changes (LF774).
    """

    desired: int = 2
    """How many tasks where the number is fixed, and what `minimum` and `maximum` are when they are not told.

    Two: an update replaces one while the other serves, and the loss of a host or of an AZ is not the end. With a
    `maximum` above the minimum the service starts with the minimum, and the load decides: see `minimum`.
    """
    minimum: int | None = None
    """Never fewer. Default: `desired`. With scaling a new service begins with as many."""
    maximum: int | None = None
    """Never more, and never more instances. Default: `desired`, so that nothing scales and no bill surprises."""
    queue_target: float | None = None
    """Requests that may wait in a task on average, beside the batch that is being generated. Default: 1.

    The number of tasks follows the requests in each task, running and waiting, towards the batch and this.
    """
    requests_per_minute_target: float | None = None
    """In place of the queue: requests a minute that one task shall get. Default: the queue is followed.

    For a server whose metrics cannot be had. It knows nothing of how long an answer is.
    """

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_scaling(self), subject="Scaling")
