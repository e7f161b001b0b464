"""A job that has become slow."""

from dataclasses import dataclass
from typing import ClassVar

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_throughput_drop


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputDrop:
    """The throughput is below a fraction of the best of the window: the job is stopped, and resumed elsewhere.

    Raises `FleetError` (LF986) for a fraction that is not between 0 and 1, and for minutes that an alarm has not.
    """

    kind: ClassVar[str] = "throughput_drop"

    metric: str
    """Name of the metric definition that reads the throughput, e.g. `train:tokens_per_second`."""
    below_fraction: float | None = None
    """Of the best minute of the window. Default: 0.5."""
    minutes: int | None = None
    """How many minutes of the window must be so bad. Default: 10; evaluation is slow as well."""
    window_minutes: int | None = None
    """How far back it looks, 1440 at most. Default: 30."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_throughput_drop(self), subject="ThroughputDrop")
