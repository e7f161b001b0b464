"""Everything that can be wrong with a training job of SageMaker."""

from llm_fleet.catalog.training_job import name_limit
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.log_retention import check_retention_days
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.job_run import check_capacity_retries, check_job_schedule
from llm_fleet.rules.sagemaker.training_job_channels import check_channel_network, check_channels
from llm_fleet.rules.sagemaker.training_job_distribution import check_distribution
from llm_fleet.rules.sagemaker.training_job_image import check_image, check_image_region
from llm_fleet.rules.sagemaker.training_job_instance import check_instances
from llm_fleet.rules.sagemaker.training_job_metrics import check_metrics
from llm_fleet.rules.sagemaker.training_job_network import check_mlflow_reached
from llm_fleet.rules.sagemaker.training_job_places import check_places
from llm_fleet.rules.sagemaker.training_job_source import check_requirements, check_source
from llm_fleet.rules.sagemaker.training_job_times import check_times
from llm_fleet.rules.sagemaker.training_job_values import check_values
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.training_job import TrainingJobSpec


def check_training_job(job: TrainingJobSpec) -> list[Problem]:
    """Return everything that is wrong with `job` wherever it runs, by its attributes."""
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
    """Return everything that is wrong with where `job` runs.

    `has_network`: whether it stands in a network of its account's. `internet`: how that leads out; `None` where it is
    not known.
    """
    closed = has_network and internet is InternetAccess.NONE
    return [
        *check_image_region(job.image, region),
        *check_channel_network(job, has_network=has_network),
        *check_requirements(job, closed=closed),
        *check_mlflow_reached(job, closed=closed),
    ]


def _isolated(job: TrainingJobSpec) -> list[Problem]:
    """An isolated container makes no call: of what it cannot do, so much is known beforehand."""
    if not job.network_isolation:
        return []
    impossible = {
        "remote_debug": (job.remote_debug, "Session Manager opens no shell in an isolated container"),
        "tracking": (
            job.tracking is not None and job.tracking.mlflow_arn is not None,
            "an isolated container tells MLflow nothing",
        ),
    }
    return [
        Problem(
            code=SageMakerCode.TRAINING_SETTING,
            message=message,
            remedy="leave it out, or the isolation",
            path=(attribute,),
        )
        for attribute, (asked, message) in impossible.items()
        if asked
    ]
