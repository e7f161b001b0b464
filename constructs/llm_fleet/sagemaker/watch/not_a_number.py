"""A loss that is no number any more."""

from dataclasses import dataclass
from typing import ClassVar

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_metric_name


@dataclass(frozen=True, slots=True, kw_only=True)
class NotANumber:
    r"""The log says that the loss is NaN: the job is stopped, and resumed from before.

    CloudWatch takes no NaN, so that `metric` is not the loss itself. It is a metric definition whose regex captures
    another number, e.g. the step, from lines whose loss is none: `step[ =:]+(\d+).*loss[ =:]+(?:nan|inf)`. Any value
    of it is a sign. Raises `FleetError` (LF986) without a name.
    """

    kind: ClassVar[str] = "not_a_number"

    metric: str
    """Name of that metric definition, e.g. `train:loss_nan`."""

    def __post_init__(self) -> None:
        """Raise `FleetError` when something is wrong."""
        raise_problems(check_metric_name(self), subject="NotANumber")
