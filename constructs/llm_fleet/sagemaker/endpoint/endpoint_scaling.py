"""How many instances an endpoint has."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_scaling import check_endpoint_scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointScaling:
    """Between how many instances an endpoint's number follows its load, and what of the load it follows.

    Never 0: SageMaker scales only inference components to nothing, and this endpoint serves its one model directly.

    Raises `FleetError` for numbers that cannot be (LF948), for a target that is no number above 0 or a cooldown out of
    range (LF949), and for two targets (LF117).
    """

    maximum: int
    """Never more instances."""
    minimum: int | None = None
    """Never fewer. Default: the endpoint's `instance_count`."""
    concurrent_requests: float | None = None
    """Requests at a time that an instance shall have, waiting ones too. Default: 5, unless `invocations_per_minute`.

    The metric has a point every ten seconds, and knows how long an answer takes, as a language model's does.
    """
    invocations_per_minute: float | None = None
    """Requests in a minute that an instance shall have, in place of those at a time. Default: not looked at."""
    scale_out_seconds: int | None = None
    """Wait after instances were added. Default: 300, as the service has it."""
    scale_in_seconds: int | None = None
    """Wait after instances were taken. Default: 600, since a model takes minutes to be loaded again."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_endpoint_scaling(self), subject="EndpointScaling")
