"""How a watch starts jobs again."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds


class RestartConfig(FleetModel):
    """How a watch starts jobs again (`RestartPolicyLike`). A number is short for `max` alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        "maximum": "write `max`",
        "times": "write `max`",
        "attempts": "write `max`",
        "retries": "write `max`",
        "back_off": "write `wait`",
        "backoff": "write `wait`",
        "delay": "write `wait`",
    }

    maximum: int | None = Field(default=None, alias="max")
    """How often one job is started again, all causes together; 0 only tells. Default: 3."""
    back_off_seconds: Seconds | None = Field(default=None, alias="wait")
    """Before the first restart; doubled before each further one. Default: `1 min`."""
    longest_back_off_seconds: Seconds | None = Field(default=None, alias="longest_wait")
    """However often it was doubled. Default: `1 h`."""
    at_max_runtime: bool | None = Field(default=None, alias="after_max_runtime")
    """Whether a job that was stopped for its maximum runtime goes on in another. Default: no."""
