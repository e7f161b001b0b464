"""The training runs of a fleet file."""

from collections.abc import Mapping

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.jobs.find import find_partition
from llm_fleet.config.jobs.job import JobConfig
from llm_fleet.config.jobs.served import served
from llm_fleet.jobs.checkpoint import Checkpoint
from llm_fleet.jobs.served_export import ServedExport
from llm_fleet.jobs.training_data import TrainingData
from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.problem import FleetError, Problem

_AS_WRITTEN = (
    *("model", "nodes", "backend", "shape", "revision", "from_weights", "folder", "sequence_length", "global_batch"),
    *("micro_batch", "tensor_parallel", "pipeline_parallel", "context_parallel", "shard_degree"),
    *("activation_checkpointing", "precision", "steps", "learning_rate", "warmup_steps", "weight_decay", "seed"),
    *("max_restarts", "smp"),
)


def training_runs(fleet: Fleet) -> Mapping[str, TrainingRun]:
    """Return the jobs of `fleet`, which was loaded and so is right, as runs by name."""
    return {name: training_run(job, fleet) for name, job in fleet.jobs.items()}


def training_run(job: JobConfig, fleet: Fleet) -> TrainingRun:
    """Return `job` of `fleet` as a run. Raises `FleetError` for one of a fleet that no loader has judged."""
    found = find_partition(job, fleet)
    if isinstance(found, Problem):
        raise FleetError([found.under("jobs", job.name)])
    export = served(job, fleet)
    return TrainingRun(
        name=job.name,
        partition=found.partition,
        data=TrainingData(place=job.data.place, text_field=job.data.text_field),
        checkpoint=Checkpoint(every=job.checkpoint.every, keep=job.checkpoint.keep, mirror=job.checkpoint.mirror),
        export=None
        if export is None
        else ServedExport(
            to=export.to,
            server=export.server,
            instance_type=export.instance_type,
            tensor_parallel=export.tensor_parallel,
            batch_size=export.batch_size,
            sequence_length=export.sequence_length,
            environment=export.environment,
        ),
        **{name: getattr(job, name) for name in _AS_WRITTEN},
    )
