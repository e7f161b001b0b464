"""Who is called about a service, and when."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Milliseconds, TopicArn


class AlarmsConfig(FleetModel):
    """Who is called about a service, and from when on (`AlarmThresholdsLike`). An ARN is short for the topic alone."""

    written_as: ClassVar[Mapping[str, str]] = {"time_to_first_token_seconds": "time_to_first_token"}

    topic_arn: TopicArn | None = Field(default=None, alias="topic")
    """ARN of the SNS topic that alarms go to. Default: none; they show in CloudWatch alone."""
    time_to_first_token_ms: Milliseconds | None = Field(default=None, alias="time_to_first_token")
    """Average time to the first token over five minutes, three times on end. Default: `10 s`."""
    waiting_requests: float | None = None
    """Requests that wait in a task on average, for ten minutes. Default: twice the batch."""
    server_error_percent: float | None = None
    """Answers that are 5xx, of a hundred, in two of three times five minutes. Default: 5."""

    @property
    def time_to_first_token_seconds(self) -> float | None:
        """As written, in seconds."""
        return None if self.time_to_first_token_ms is None else self.time_to_first_token_ms / 1000
