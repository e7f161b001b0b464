"""A job that stands still."""

from dataclasses import dataclass
from typing import ClassVar

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_stall


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A metric of which nothing has come for `minutes`: the job is stopped, and resumed.

    Raises `FleetError` (LF986) for minutes that a CloudWatch alarm has not.
    """

    kind: ClassVar[str] = "stall"

    metric: str
    """Name of a metric definition that each step writes, e.g. `train:loss`."""
    minutes: int | None = None
    """How long nothing may come, 2 to 1440. Default: 15. Evaluation and a slow checkpoint must fit in."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_stall(self), subject="Stall")
