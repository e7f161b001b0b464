"""All rules over the SageMaker pieces of a fleet file."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_endpoints import check_endpoints
from llm_fleet.config.sagemaker.check_notebooks import check_notebooks
from llm_fleet.config.sagemaker.check_studio import check_studio
from llm_fleet.config.sagemaker.check_training_jobs import check_training_jobs
from llm_fleet.config.sagemaker.check_watch import check_watch
from llm_fleet.rules.problem import Problem


def check_sagemaker(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the SageMaker pieces of `fleet`, by attribute names."""
    yield from check_notebooks(fleet)
    yield from check_studio(fleet)
    yield from check_endpoints(fleet)
    yield from check_training_jobs(fleet)
    yield from check_watch(fleet)
