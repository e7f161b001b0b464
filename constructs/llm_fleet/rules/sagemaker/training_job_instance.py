"""The instances of a training job, their number and their disks."""

from collections.abc import Iterator

from llm_fleet.catalog.training_job import TrainingInstance, training_instances, training_job_limit
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec


def check_instances(job: TrainingJobSpec) -> list[Problem]:
    """Return what is wrong with the type of instance, their number, their volume and the plan that they are from."""
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
            message=f"SageMaker has no training instance {name!r}",
            remedy=f"write {plain!r}"
            if plain in training_instances()
            else did_you_mean(name, training_instances(), otherwise="write one of them, e.g. 'ml.g5.xlarge'"),
            path=("instance_type",),
            value=name,
            allowed="an instance type of CreateTrainingJob, with `ml.` in front",
        )
    elif instance.successor is not None:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            message=f"{name} is of a generation that the images of today have no kernels for",
            remedy=f"write {instance.successor!r}, or another instance with newer GPUs",
            path=("instance_type",),
            value=name,
        )


def _volume(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    size = job.volume_gib
    if size is None or is_unresolved(size) or size < 1 or instance is None or not instance.has_local_disks:
        return
    disks = f" of {instance.nvme_gb} GB altogether" if instance.nvme_gb else ""
    yield Problem(
        code=SageMakerCode.TRAINING_SETTING,
        message=f"{instance.name} has local disks{disks}, and SageMaker gives it no volume beside them",
        remedy="leave the volume out",
        path=("volume_gib",),
        value=size,
    )


def _plan(arn: str | None) -> Iterator[Problem]:
    limit = training_job_limit("ResourceConfig.TrainingPlanArn")
    if arn is None or is_unresolved(arn) or (limit.matches(arn) and limit.holds(len(arn))):
        return
    yield Problem(
        code=SageMakerCode.TRAINING_SETTING,
        message="this is not the ARN of a training plan",
        remedy="write it whole, e.g. arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring",
        path=("training_plan_arn",),
        value=arn,
    )
