"""Instances that stay after a training job, for the next one."""

from dataclasses import dataclass

from llm_fleet.catalog.training_jobs import training_job_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """Instances that a job leaves running, so that the next job with the same ones starts within seconds.

    They are paid in full while they wait, and have a quota of their own. A policy refuses whoever starts the job a
    longer time than the cap (IAM's condition key `sagemaker:KeepAlivePeriod`). Not with spot instances.
    """

    keep_alive_seconds: int
    """For how long after the job's end, 1 to `cap_seconds`."""
    cap_seconds: int = training_job_fact("warm_pool")["cap_seconds"]
    """For how long at most, whatever a start of the job asks for, up to 21600. Default: 3600."""
