"""A loss that spikes."""

from dataclasses import dataclass
from typing import ClassVar

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_loss_spike


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpike:
    """The loss is `factor` times the smallest of the window, or more: the job is stopped, and resumed from before.

    Raises `FleetError` (LF986) for a factor that is not above 1, and for minutes that a CloudWatch alarm has not.
    """

    kind: ClassVar[str] = "loss_spike"

    metric: str
    """Name of the metric definition that reads the loss, e.g. `train:loss`."""
    factor: float | None = None
    """How many times the smallest minute of the window. Default: 2."""
    minutes: int | None = None
    """How many minutes of the window must be so bad. Default: 3; one batch alone is no divergence."""
    window_minutes: int | None = None
    """How far back it looks, 1440 at most. Default: 30."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_loss_spike(self), subject="LossSpike")
