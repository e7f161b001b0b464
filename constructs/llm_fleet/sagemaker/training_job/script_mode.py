"""What the containers' toolkit is told of the script, and of what starts it."""

from typing import Any

from llm_fleet.catalog.training_job import launchers, training_job_fact
from llm_fleet.rules.sagemaker.training_job_values import hyperparameter_text
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import DistributionKind


def render_hyperparameters(spec: TrainingJobSpec, *, source_uri: str | None, region: str) -> dict[str, str]:
    """Return all hyperparameters as texts, the user's first.

    With a source bundle they are JSON, as the toolkit reads them; without one they are for an image of the user's own,
    which gets texts as they are.
    """
    if spec.source is None or source_uri is None:
        return {name: _plain(value) for name, value in spec.hyperparameters.items()}
    told = {**spec.hyperparameters, **_of_script(spec.source.entry_point, source_uri, region), **_of_launcher(spec)}
    return {name: hyperparameter_text(value) for name, value in told.items()}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else hyperparameter_text(value)


def _of_script(entry_point: str, source_uri: str, region: str) -> dict[str, Any]:
    return {
        "sagemaker_program": entry_point,
        "sagemaker_submit_directory": source_uri,
        "sagemaker_container_log_level": training_job_fact("log_level"),
        "sagemaker_region": region,
    }


def _of_launcher(spec: TrainingJobSpec) -> dict[str, Any]:
    distribution = spec.distribution
    told = dict(launchers()[distribution.kind.value].hyperparameters)
    if not told:
        return {}
    if distribution.processes_per_host is not None:
        told["sagemaker_mpi_num_of_processes_per_host"] = distribution.processes_per_host
    if distribution.kind is not DistributionKind.MPI:
        told["sagemaker_instance_type"] = spec.instance_type
    if distribution.smp_configuration is not None:
        told["mp_parameters"] = distribution.smp_configuration.for_library
    return told
