"""What is done when there are no machines for a training job."""

from dataclasses import dataclass

from llm_fleet.catalog.job_machine import job_machine_fact
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.job_run import check_capacity_retries


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRetries:
    """Further jobs of the same run after one that failed for want of capacity; SageMaker itself tries only once.

    They go on from the run's checkpoints. A job under a watch has none: the watch starts it again.
    Raises `FleetError` (LF973) for a number out of its bounds.
    """

    attempts: int | None = None
    """Jobs after the first, 0 to 20. Default: 5."""
    first_wait_seconds: int | None = None
    """Before the second job; doubled before each further one. 30 to 86400. Default: 300."""
    longest_wait_seconds: int | None = None
    """However often it was doubled. Default: 3600, or the first wait where that is longer."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_capacity_retries(self), subject="CapacityRetries")

    @property
    def waits(self) -> tuple[int, ...]:
        """Seconds before each further job."""
        number = job_machine_fact("capacity_attempts")["default"] if self.attempts is None else self.attempts
        facts = job_machine_fact("capacity_wait_seconds")
        first: int = self.first_wait_seconds or facts["default"]
        longest: int = self.longest_wait_seconds or max(facts["longest_default"], first)
        return tuple(min(first * 2**index, longest) for index in range(number))
