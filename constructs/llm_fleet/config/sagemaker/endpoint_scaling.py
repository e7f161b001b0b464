"""How many instances an endpoint has."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class EndpointScalingConfig(FleetModel):
    """Between how many instances an endpoint's number follows its load (`EndpointScalingLike`). Never 0."""

    maximum: int = Field(alias="max", examples=[4])
    """Never more instances."""
    minimum: int | None = Field(default=None, alias="min")
    """Never fewer. Default: the endpoint's `count`."""
    concurrent_requests: float | None = None
    """Requests at a time that an instance shall have. Default: 5."""
    invocations_per_minute: float | None = Field(default=None, alias="requests_per_minute")
    """Requests in a minute that an instance shall have, in place of those at a time. Default: not looked at."""
    scale_out_seconds: Seconds | None = Field(default=None, alias="wait_after_adding")
    """Wait after instances were added. Default: `300 s`."""
    scale_in_seconds: Seconds | None = Field(default=None, alias="wait_after_taking")
    """Wait after instances were taken. Default: `600 s`; a model takes minutes to be loaded again."""
