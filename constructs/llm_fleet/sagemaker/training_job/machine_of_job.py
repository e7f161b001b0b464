"""From a training job to the plan of its machine."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.sagemaker.training_job.follows_jobs import FollowsJobs
from llm_fleet.sagemaker.training_job.machine_pace import longest_seconds, pace, watch_record
from llm_fleet.sagemaker.training_job.machine_plan import MachinePlan
from llm_fleet.sagemaker.training_job.run_alarms import run_alarms
from llm_fleet.spec.training_job import CapacityRetries, TrainingJobSpec


def machine_plan(
    job: TrainingJobSpec,
    request: Mapping[str, Any],
    *,
    partition: str,
    retries: CapacityRetries,
    watch: FollowsJobs | None,
    topic_arn: str | None,
) -> MachinePlan:
    """Return the plan of the machine that runs `job` by `request`."""
    alarms = run_alarms(job.metrics, topic_arn=topic_arn)
    record = watch_record(watch.record_table_name, answer_within_seconds=watch.answer_within_seconds) if watch else None
    waits = () if watch else retries.waits
    stopping = request["StoppingCondition"]
    longest = longest_seconds(
        run_seconds=stopping.get("MaxWaitTimeInSeconds", stopping["MaxRuntimeInSeconds"]),
        pending_seconds=stopping.get("MaxPendingTimeInSeconds"),
        watched=watch is not None,
    )
    return MachinePlan(
        name=job.name,
        partition=partition,
        request=request,
        pace=pace(longest_seconds=longest, attempts=1 + len(waits), alarms=len(alarms), watch=record),
        quota_attempts=job_machine_fact("quota_attempts"),
        capacity_waits=waits,
        alarms=alarms,
        watch=record,
    )
