"""What starts the processes of a training script, on what instances and in what images."""

from collections.abc import Iterator

from llm_fleet.catalog.training_job import TrainingInstance, launchers, smddp_instances, training_instances
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.smp import check_smp
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import DistributionKind, TrainingImageKind

_CODE = SageMakerCode.TRAINING_DISTRIBUTION
_WITH_LIBRARIES = (TrainingImageKind.SMP, TrainingImageKind.OWN)


def check_distribution(job: TrainingJobSpec) -> list[Problem]:
    """Return why the launcher does not go with instance, image or configuration, below `distribution`."""
    instance = training_instances().get(job.instance_type)
    if instance is not None and instance.successor is not None:
        instance = None  # told as it is
    found = [*_own_values(job), *(list(_instance(job, instance)) or _image(job))]
    return [problem.under("distribution") for problem in [*found, *_smp(job, instance)]]


def _own_values(job: TrainingJobSpec) -> Iterator[Problem]:
    distribution = job.distribution
    if distribution.smp_configuration is not None and distribution.kind is not DistributionKind.SMP:
        yield _problem(
            "this is SMP's, and the distribution is another", "take the distribution smp", "smp_configuration"
        )
    if distribution.processes_per_host is not None and distribution.kind is not DistributionKind.MPI:
        yield _problem(
            "only MPI is told how many processes it starts",
            "leave it out",
            "processes_per_host",
            distribution.processes_per_host,
        )


def _instance(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    launcher = launchers()[job.distribution.kind.value]
    if instance is None:
        return
    if instance.accelerator == "neuron" and not launcher.neuron:
        yield _problem(f"{launcher.title} does not start processes on Trainium", "take torchrun", "kind", launcher.name)
    elif job.distribution.kind is DistributionKind.SMDDP and not instance.smddp:
        named = [f"ml.{name}" for name in smddp_instances()]
        yield Problem(
            code=_CODE,
            message=f"SMDDP does not run on {instance.name}: it refuses to be imported there",
            remedy=f"take torchrun, whose NCCL runs there, or {' or '.join(named)}",
            path=("kind",),
            value=launcher.name,
            allowed=", ".join(named),
        )


def _image(job: TrainingJobSpec) -> Iterator[Problem]:
    """SMP and SMDDP are in no other image of today."""
    kind = job.distribution.kind
    if kind in (DistributionKind.SMP, DistributionKind.SMDDP) and job.image.kind not in _WITH_LIBRARIES:
        title = launchers()[kind.value].title
        yield _problem(
            f"{title} is not in the image {job.image.kind.value}: no later one than that of SMP with PyTorch "
            f"{TrainingImageKind.SMP.newest_version} has it",
            "take the image smp, or torchrun, which needs no library",
            "kind",
            kind.value,
        )


def _smp(job: TrainingJobSpec, instance: TrainingInstance | None) -> Iterator[Problem]:
    distribution = job.distribution
    if distribution.kind is not DistributionKind.SMP:
        return
    if distribution.smp_configuration is None:
        yield _problem("SMP is told how to spread the model, and nothing is told", "tell its keys", "smp_configuration")
        return
    known = instance is not None and not is_unresolved(job.instance_count)
    world = instance.accelerators * job.instance_count if known and instance is not None else None
    for problem in check_smp(distribution.smp_configuration, world_size=world or None):
        yield problem.under("smp_configuration")
    if distribution.smp_configuration.backend is not None:
        yield _problem(
            "the backend is the script's own choice, in init_process_group, and no key of the library",
            "leave it out, and tell the script by a hyperparameter",
            "smp_configuration",
            distribution.smp_configuration.backend,
        )


def _problem(message: str, remedy: str, attribute: str, value: object = None) -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy, path=(attribute,), value=value)
