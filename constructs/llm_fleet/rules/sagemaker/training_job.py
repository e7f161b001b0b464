"""All rules for a SageMaker training job; its times, retries, schedule and instances are checked here."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from llm_fleet.catalog.training_job import (
    TrainingInstance,
    job_machine_fact,
    name_limit,
    training_instances,
    training_job_fact,
    training_job_limit,
)
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.sagemaker.training_job_code import (
    check_distribution,
    check_image,
    check_image_region,
    check_requirements,
    check_source,
)
from llm_fleet.rules.sagemaker.training_job_data import (
    check_channel_network,
    check_channels,
    check_metrics,
    check_places,
)
from llm_fleet.rules.sagemaker.training_job_values import check_values
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import (
    CRON_EXAMPLE,
    check_hyphenated_name,
    check_retention_days,
    cron_fault,
    did_you_mean,
)
from llm_fleet.spec.training_job import CapacityRetries, JobSchedule, Spot, TrainingJobSpec
from llm_fleet.spec.values import SECONDS


def check_training_job(job: TrainingJobSpec) -> list[Problem]:
    """Return everything that is wrong with `job`, independent of region and network, by its attributes."""
    return [
        *check_hyphenated_name(
            job.name, name_limit(), SageMakerCode.NAME, "name", what="name of the training job's state machine"
        ),
        *check_fields(job),
        *check_instances(job),
        *check_image(job),
        *check_source(job),
        *check_distribution(job),
        *check_times(job),
        *check_values(job),
        *check_channels(job),
        *check_places(job),
        *check_metrics(job),
        *_isolated(job),
        *_run(job),
    ]


def _run(job: TrainingJobSpec) -> list[Problem]:
    schedule, retries = job.schedule, job.capacity_retries
    return [
        *([] if schedule is None else [problem.under("schedule") for problem in check_job_schedule(schedule)]),
        *(
            []
            if retries is None
            else [problem.under("capacity_retries") for problem in check_capacity_retries(retries)]
        ),
        *check_retention_days(job.log_retention_days, SageMakerCode.TRAINING_TIME, "log_retention_days"),
    ]


def check_training_job_place(
    job: TrainingJobSpec, *, region: str | None, has_network: bool, internet: InternetAccess | None = None
) -> list[Problem]:
    """Return what is wrong with `job` in this region and network.

    `has_network`: whether it is in a network of the account. `internet`: that network's internet access; `None` when
    unknown.
    """
    closed = has_network and internet is InternetAccess.NONE
    return [
        *check_image_region(job.image, region),
        *check_channel_network(job, has_network=has_network),
        *check_requirements(job, closed=closed),
        *check_mlflow_reached(job, closed=closed),
    ]


def _isolated(job: TrainingJobSpec) -> Iterator[Problem]:
    """A container with network isolation can make no calls."""
    if not job.network_isolation:
        return
    impossible = {
        "remote_debug": (
            job.remote_debug,
            "`remote_debug` cannot be used with `network_isolation`: Session Manager cannot reach the container",
        ),
        "tracking": (
            job.tracking is not None and job.tracking.mlflow_arn is not None,
            "MLflow tracking cannot be used with `network_isolation`: the container cannot reach MLflow",
        ),
    }
    yield from (
        Problem(
            code=SageMakerCode.TRAINING_SETTING,
            message=message,
            remedy=f"remove `{attribute}` or `network_isolation`",
            path=(attribute,),
        )
        for attribute, (requested, message) in impossible.items()
        if requested
    )


_RATE = re.compile(r"rate\((\d+) ([a-z]+)\)")
_AT = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)")


def check_job_schedule(schedule: JobSchedule) -> Iterator[Problem]:
    """Return what is wrong with the schedule of a job, by attributes (LF972)."""
    fault = None if is_unresolved(schedule.expression) else _expression_fault(schedule.expression)
    if fault:
        yield schedule.wrong(
            "expression",
            SageMakerCode.TRAINING_SCHEDULE,
            f"the schedule {fault}",
            f"write e.g. {CRON_EXAMPLE} or rate(7 days)",
            allowed="cron(…), rate(…) or at(…)",
        )
    if not is_unresolved(schedule.time_zone) and schedule.time_zone not in available_timezones():
        yield schedule.wrong(
            "time_zone",
            SageMakerCode.TRAINING_SCHEDULE,
            "unknown time zone",
            "write e.g. UTC or Europe/Vienna",
            allowed="names of the IANA time zone database",
        )
    for name, value in schedule.hyperparameters.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not every user has a checker
            yield schedule.wrong(
                ("hyperparameters", name),
                SageMakerCode.TRAINING_HYPERPARAMETER,
                "SageMaker accepts only text as the value of a hyperparameter",
                f'write "{value}"',
            )


def check_capacity_retries(retries: CapacityRetries) -> Iterator[Problem]:
    """Return what is wrong with the retries after a job without capacity, by attributes (LF973)."""
    first, longest = retries.first_wait_seconds, retries.longest_wait_seconds
    if first is None or longest is None or check_fields(retries) or is_unresolved(first) or is_unresolved(longest):
        return
    if longest < first:
        yield retries.wrong(
            "longest_wait_seconds",
            SageMakerCode.TRAINING_CAPACITY,
            "`longest_wait` is shorter than `first_wait`",
            f"remove it, or write at least {SECONDS.text(first)}",
            allowed=f"{SECONDS.text(first)} or more",
        )


def _expression_fault(expression: str) -> str | None:
    """Return what is wrong with an expression, as the predicate of a sentence about "the schedule"."""
    if expression.startswith("cron("):
        return cron_fault(expression)
    if expression.startswith("rate("):
        return _rate_fault(expression)
    found = _AT.fullmatch(expression)
    if not found:
        if expression.startswith("at("):
            return "must have a date and time, as in at(2027-01-31T08:00:00)"
        return "must be cron(…), rate(…) or at(…)"
    try:
        datetime.fromisoformat(found[1])
    except ValueError:
        return f"has an invalid date or time, {found[1]}"
    return None


def _rate_fault(expression: str) -> str | None:
    found = _RATE.fullmatch(expression)
    if not found:
        return "must have a number and a unit, as in rate(7 days)"
    number, unit = int(found[1]), found[2]
    if number == 0:
        return "must have a number above 0"
    units: list[str] = job_machine_fact("schedule_units")
    if unit not in units:
        return f"has the unknown unit `{unit}`; the units are {', '.join(units)}"
    return None


def check_instances(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with instance type, volume and training plan."""
    instance = training_instances().get(job.instance_type)
    return [
        *_type(job.instance_type, instance),
        *_volume(job, instance),
        *_plan(job.training_plan_arn),
    ]


def _type(name: str, instance: TrainingInstance | None) -> Iterator[Problem]:
    if instance is None:
        plain = f"ml.{name}"
        yield Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            message=f"unknown instance type {name!r} for training jobs",
            remedy=f"write `{plain}`"
            if plain in training_instances()
            else did_you_mean(name, training_instances(), otherwise="write an instance type such as `ml.g5.xlarge`"),
            path=("instance_type",),
            value=name,
            allowed="an instance type of CreateTrainingJob, beginning with `ml.`",
        )
    elif instance.successor is not None:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            message=f"current training images have no GPU kernels for {name}",
            remedy=f"write `{instance.successor}`, or another instance type with newer GPUs",
            path=("instance_type",),
            value=name,
        )


def _volume(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    size = job.volume_gib
    if size is None or is_unresolved(size) or size < 1 or instance is None or not instance.has_local_disks:
        return
    disks = f" of {instance.nvme_gb} GB in total" if instance.nvme_gb else ""
    yield job.wrong(
        "volume_gib",
        SageMakerCode.TRAINING_SETTING,
        f"`volume` has no effect: {instance.name} has local disks{disks}, and SageMaker attaches no volume to it",
        "remove the volume",
    )


def _plan(arn: str | None) -> Iterator[Problem]:
    limit = training_job_limit("ResourceConfig.TrainingPlanArn")
    if arn is None or is_unresolved(arn) or (limit.matches(arn) and limit.holds(len(arn))):
        return
    yield Problem(
        code=SageMakerCode.TRAINING_SETTING,
        message="this is not the ARN of a training plan",
        remedy="write the complete ARN, e.g. arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring",
        path=("training_plan_arn",),
        value=arn,
    )


def check_times(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with waiting times, spot and the warm pool, by the attributes of the job."""
    return [
        *_pending(job),
        *([] if job.spot is None else _spot(job, job.spot)),
        *_warm_pool(job),
    ]


def _known(value: Any) -> bool:
    return type(value) is int and not is_unresolved(value)


def _pending(job: TrainingJobSpec) -> Iterator[Problem]:
    if job.max_pending_seconds is None:
        return
    instance = training_instances().get(job.instance_type)
    if instance is not None and instance.successor is None and instance.accelerator is None:
        yield job.wrong(
            "max_pending_seconds",
            SageMakerCode.TRAINING_TIME,
            f"this setting has no effect on {instance.name}: it limits the wait for instances with accelerators",
            "remove it",
        )


def _spot(job: TrainingJobSpec, spot: Spot) -> Iterator[Problem]:
    wait = spot.max_wait_seconds
    if _known(wait) and _known(job.max_run_seconds) and wait is not None and 0 < wait < job.max_run_seconds:
        yield job.wrong(
            ("spot", "max_wait_seconds"),
            SageMakerCode.TRAINING_TIME,
            "`max_wait` includes the run time, and is shorter than `max_run`",
            f"write at least {SECONDS.text(job.max_run_seconds)}, or reduce `max_run`",
            allowed=f"{SECONDS.text(job.max_run_seconds)} or more",
        )


def _warm_pool(job: TrainingJobSpec) -> Iterator[Problem]:
    pool = job.warm_pool
    if pool is None:
        return
    known = _known(pool.keep_alive_seconds) and _known(pool.cap_seconds)
    if not check_fields(pool) and known and pool.keep_alive_seconds > pool.cap_seconds:
        yield job.wrong(
            ("warm_pool", "keep_alive_seconds"),
            SageMakerCode.TRAINING_WARM_POOL,
            f"`keep` is longer than `cap`, which is {SECONDS.text(pool.cap_seconds)}",
            f"write at most {SECONDS.text(pool.cap_seconds)}, or raise `cap`: idle instances are charged in full",
            allowed=f"1 s to {SECONDS.text(pool.cap_seconds)}",
        )
    if job.spot is not None:
        yield job.wrong(
            "warm_pool",
            SageMakerCode.TRAINING_WARM_POOL,
            "set only one of `warm_pool` and `spot`: spot instances cannot be kept in a warm pool",
            "remove `warm_pool` or `spot`",
        )


def address_claim(job: TrainingJobSpec, *, owner: str, availability_zone_id: str | None) -> AddressClaim:
    """Return the addresses that the instances of one job use; none when the number of instances is a CDK token."""
    count = 0 if is_unresolved(job.instance_count) else job.instance_count
    return AddressClaim(
        owner=owner,
        what=job.instance_type,
        count=count,
        addresses_each=training_job_fact("addresses_per_instance"),
        availability_zone_id=availability_zone_id,
    )


def check_mlflow_reached(job: TrainingJobSpec, *, closed: bool) -> Iterator[Problem]:
    """Return a problem when the container cannot reach MLflow, for which llm-fleet creates no VPC endpoint."""
    if closed and job.tracking is not None and job.tracking.mlflow_arn is not None:
        yield Problem(
            code=SageMakerCode.TRAINING_TRACKING,
            message="MLflow cannot be reached from a network without internet access: llm-fleet does not create its "
            "VPC endpoint, `aws.sagemaker.<region>.experiments`",
            remedy="give the network internet access (`internet: nat`), or use only TensorBoard",
            path=("tracking",),
        )
