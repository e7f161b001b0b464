"""Who is called about an endpoint, and when."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.sagemaker.endpoint_values import Hours
from llm_fleet.config.services.values import Milliseconds, TopicArn
from llm_fleet.spec.model import FleetModel


class EndpointAlarmsConfig(FleetModel):
    """Who is called about an endpoint, and from when on (`EndpointAlarmThresholdsLike`). An ARN is the topic alone."""

    written_as: ClassVar[Mapping[str, str]] = {"model_latency_seconds": "model_latency"}

    topic_arn: TopicArn | None = Field(default=None, alias="topic")
    """ARN of the SNS topic that alarms, the budget and the endpoint's end go to. Default: none."""
    server_error_percent: float | None = None
    """Requests that failed in the model, of a hundred, in three of five minutes. Default: 5."""
    model_latency_ms: Milliseconds | None = Field(default=None, alias="model_latency")
    """Average time of an answer in three of five minutes. Default: `30 s`."""
    idle_hours: Hours | None = Field(default=None, alias="idle")
    """Hours on end in which instances ran and nobody asked. Default: `6 hours`."""

    @property
    def model_latency_seconds(self) -> float | None:
        """As written, in seconds."""
        return None if self.model_latency_ms is None else self.model_latency_ms / 1000
