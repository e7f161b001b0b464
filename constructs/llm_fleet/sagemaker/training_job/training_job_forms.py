"""Values of the wrong class that a `TrainingJob` was given; see `rules.inference.forms`."""

from typing import Any

from llm_fleet.rules.inference.forms import Form, check_form
from llm_fleet.rules.problem import Problem
from llm_fleet.sagemaker.training_job.capacity_retries import CapacityRetries
from llm_fleet.sagemaker.training_job.job_schedule import JobSchedule
from llm_fleet.sagemaker.training_job.training_job_spec import TrainingJobSpec

_FORMS = {
    "job": Form(
        wanted="a description of a job",
        remedy="write job=TrainingJobSpec(name=…, image=…, instance_type=…)",
        types=(TrainingJobSpec,),
    ),
    "schedule": Form(
        wanted="a schedule",
        remedy='write schedule=JobSchedule(expression="rate(7 days)")',
        types=(JobSchedule,),
        optional=True,
    ),
    "capacity_retries": Form(
        wanted="a number of further attempts",
        remedy="write capacity_retries=CapacityRetries(attempts=3)",
        types=(CapacityRetries,),
        optional=True,
    ),
    "network": Form(
        wanted="a network of llm-fleet",
        remedy="write network=FleetNetwork(…), or FleetNetwork.from_existing(…)",
        has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
        optional=True,
    ),
}


def check_training_job_arguments(**given: Any) -> list[Problem]:
    """Return a problem for each argument of the wrong class, by its name."""
    return [problem for name, value in given.items() for problem in check_form(value, _FORMS[name], name)]
