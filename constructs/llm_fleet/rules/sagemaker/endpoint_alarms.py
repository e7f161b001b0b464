"""From when on the alarms of an endpoint ring."""

from typing import Protocol

from llm_fleet.catalog.endpoint_operations import endpoint_alarm_facts
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.positive import check_positive


class EndpointAlarmThresholdsLike(Protocol):
    """Thresholds of an endpoint's alarms (`EndpointAlarmThresholds`)."""

    @property
    def server_error_percent(self) -> float | None:
        """5xx in a hundred requests."""
        ...

    @property
    def model_latency_seconds(self) -> float | None:
        """Seconds that the model takes on average."""
        ...

    @property
    def idle_hours(self) -> int | None:
        """Hours without a request."""
        ...


def check_endpoint_thresholds(thresholds: EndpointAlarmThresholdsLike) -> list[Problem]:
    """Return a problem for each threshold at which an alarm would always ring, or never."""
    code = SageMakerCode.ENDPOINT_ALARM
    remedy = "write a number above 0, or leave it out"
    return [
        *check_positive(
            thresholds.server_error_percent,
            code,
            "server_error_percent",
            what="the share of errors",
            remedy=remedy,
            most=100,
        ),
        *check_positive(
            thresholds.model_latency_seconds, code, "model_latency_seconds", what="the latency", remedy=remedy
        ),
        *check_number(
            thresholds.idle_hours,
            endpoint_alarm_facts().idle_hours_range,
            code,
            "idle_hours",
            what="the number of hours without a request",
        ),
    ]
