"""When a training job is started by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.job_run import check_job_schedule


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """A schedule of EventBridge Scheduler that starts the job.

    It starts the job whether the last run has ended or not: leave room between two.
    Raises `FleetError` (LF972, LF962) with everything that is wrong.
    """

    expression: str
    """`cron(minute hour day month weekday year)`, `rate(7 days)` or `at(2026-12-24T03:00:00)`."""
    time_zone: str = "UTC"
    """In which `cron` and `at` count, by its IANA name; summer time is kept."""
    enabled: bool = True
    """`False` keeps the schedule, and it starts nothing."""
    hyperparameters: Mapping[str, str] = field(default_factory=_nothing)
    """What scheduled runs have otherwise than the job says; values as SageMaker takes them, texts."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_job_schedule(self), subject="JobSchedule")
