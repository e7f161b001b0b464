"""How long a training job runs and waits, how often it is tried, and what stays warm after it."""

from collections.abc import Iterator
from typing import Any

from llm_fleet.catalog.training_job import training_instances
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import Spot, TrainingJobSpec

_CODE = SageMakerCode.TRAINING_TIME
_POOL = SageMakerCode.TRAINING_WARM_POOL


def check_times(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with times, attempts and the warm pool, by the attributes of the job."""
    return [
        *_pending(job),
        *([] if job.spot is None else _spot(job, job.spot)),
        *_warm_pool(job),
    ]


def _known(value: Any) -> bool:
    return type(value) is int and not is_unresolved(value)


def _pending(job: TrainingJobSpec) -> Iterator[Problem]:
    seconds = job.max_pending_seconds
    if seconds is None:
        return
    instance = training_instances().get(job.instance_type)
    if instance is not None and instance.successor is None and instance.accelerator is None:
        yield Problem(
            code=_CODE,
            message=f"this has no effect on {instance.name}: it bounds the wait for accelerated instances",
            remedy="leave it out",
            path=("max_pending_seconds",),
            value=seconds,
        )


def _spot(job: TrainingJobSpec, spot: Spot) -> Iterator[Problem]:
    wait = spot.max_wait_seconds
    if _known(wait) and _known(job.max_run_seconds) and wait is not None and 0 < wait < job.max_run_seconds:
        yield Problem(
            code=_CODE,
            message=f"a job that may run {job.max_run_seconds} s cannot wait and run less than that altogether",
            remedy=f"write {job.max_run_seconds} s or more, or let it run for a shorter time",
            path=("spot", "max_wait_seconds"),
            value=wait,
        )


def _warm_pool(job: TrainingJobSpec) -> Iterator[Problem]:
    pool = job.warm_pool
    if pool is None:
        return
    known = _known(pool.keep_alive_seconds) and _known(pool.cap_seconds)
    if not check_fields(pool) and known and pool.keep_alive_seconds > pool.cap_seconds:
        yield Problem(
            code=_POOL,
            message=f"the warm pool is kept longer than its cap of {pool.cap_seconds} s allows",
            remedy=f"keep it {pool.cap_seconds} s at most, or set a higher cap: idle instances are paid in full",
            path=("warm_pool", "keep_alive_seconds"),
            value=pool.keep_alive_seconds,
            allowed=f"1 to {pool.cap_seconds}",
        )
    if job.spot is not None:
        yield Problem(
            code=_POOL,
            message="spot instances cannot be kept warm",
            remedy="take the warm pool out, or the spot instances",
            path=("warm_pool",),
        )
