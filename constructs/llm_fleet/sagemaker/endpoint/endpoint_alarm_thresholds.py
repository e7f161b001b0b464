"""From when on somebody is called about an endpoint."""

from dataclasses import dataclass

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_alarms import check_endpoint_thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAlarmThresholds:
    """From when on the alarms of an endpoint ring; `None` is the catalog's figure.

    Raises `FleetError` (LF958) for a threshold at which an alarm would always ring, or never.
    """

    server_error_percent: float | None = None
    """Requests that failed in the model, of a hundred, in three of five minutes. Default: 5."""
    model_latency_seconds: float | None = None
    """Average time of an answer in three of five minutes. Default: 30; SageMaker breaks off after 60."""
    idle_hours: int | None = None
    """Hours on end in which instances ran and nobody asked: 1 to 168. Default: 6."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_endpoint_thresholds(self), subject="EndpointAlarmThresholds")
