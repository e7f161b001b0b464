"""What a training job takes of a network, and what it reaches from there."""

from llm_fleet.catalog.training_job import training_job_fact
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import TrainingJobSpec


def address_claim(job: TrainingJobSpec, *, owner: str, availability_zone_id: str | None) -> AddressClaim:
    """Return the addresses that the instances of one job take. A number that is not known yet claims nothing."""
    count = 0 if is_unresolved(job.instance_count) else job.instance_count
    return AddressClaim(
        owner=owner,
        what=job.instance_type,
        count=count,
        addresses_each=training_job_fact("addresses_per_instance"),
        availability_zone_id=availability_zone_id,
    )


def check_mlflow_reached(job: TrainingJobSpec, *, closed: bool) -> list[Problem]:
    """Return why the container does not reach MLflow: it has an endpoint of its own, which no network of ours has."""
    if not closed or job.tracking is None or job.tracking.mlflow_arn is None:
        return []
    return [
        Problem(
            code=SageMakerCode.TRAINING_TRACKING,
            message="MLflow is not reached from a network without a way to the internet: its endpoint, "
            "`aws.sagemaker.<region>.experiments`, is none that llm-fleet makes",
            remedy="let the network have a way out (`internet: nat`), or track by TensorBoard alone",
            path=("tracking",),
        )
    ]
