"""From how the fleet file says a training job is run to the construct's values."""

from llm_fleet.config.sagemaker.job_capacity_retries import JobCapacityRetriesConfig
from llm_fleet.config.sagemaker.job_schedule import JobScheduleConfig
from llm_fleet.sagemaker.training_job.capacity_retries import CapacityRetries
from llm_fleet.sagemaker.training_job.job_schedule import JobSchedule


def schedule_from(config: JobScheduleConfig | None) -> JobSchedule | None:
    """Return when the job is started by itself."""
    if config is None:
        return None
    return JobSchedule(
        expression=config.expression,
        time_zone=config.time_zone,
        enabled=config.enabled,
        hyperparameters=config.hyperparameters,
    )


def capacity_retries_from(config: JobCapacityRetriesConfig | None) -> CapacityRetries | None:
    """Return what is done where there is no capacity."""
    if config is None:
        return None
    return CapacityRetries(
        attempts=config.attempts,
        first_wait_seconds=config.first_wait_seconds,
        longest_wait_seconds=config.longest_wait_seconds,
    )
