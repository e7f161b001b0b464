"""How often a job is started again, and how long after it failed."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_restart import check_restart


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How a watch starts jobs again; `None` is the catalog's figure.

    Raises `FleetError` (LF985) for a number out of its bounds, and for a longest wait below the first.
    """

    maximum: int | None = None
    """How often one job is started again, all causes together: 0 to 100. Default: 3. 0 only tells."""
    back_off_seconds: int | None = None
    """Before the first restart, in seconds; doubled before each further one. Default: 60."""
    longest_back_off_seconds: int | None = None
    """However often it was doubled, in seconds. Default: 3600, or the first wait where that is longer."""
    at_max_runtime: bool | None = None
    """Whether a job that SageMaker stopped for its maximum runtime goes on in another. Default: no.

    The maximum is what somebody was ready to pay.
    """

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_restart(self), subject="RestartPolicy")
