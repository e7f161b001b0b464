"""What a run sets in its batch files, by the names of their settings."""

from collections.abc import Mapping

from llm_fleet.catalog.training_environments import backends
from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.training.run.sources import source_of

TRAIN = ("train", "train-nemo-megatron")
"""The stages that train; of a run, one of them."""
_ON_ALL_NODES = frozenset({*TRAIN, "compile", "test-nccl", "test-nccom"})
"""Stages that take as many nodes as the run; all others take one."""


def run_settings(run: TrainingRun) -> Mapping[str, str]:
    """Return what all stages of `run` share: the settings of `run.sh`."""
    plan = run.plan
    return {
        "RUN": run.name,
        "RUN_FOLDER": plan.folder,
        "MODEL": run.model,
        "REVISION": run.revision or ("main" if source_of(run.model) is ModelSource.HUB else ""),
        "BACKEND": plan.backend.value,
        "PRECISION": plan.precision.value,
        "ACTIVATION_CHECKPOINTING": plan.activation_checkpointing.value,
        "SEQUENCE_LENGTH": str(plan.sequence_length),
        "TENSOR_PARALLEL": str(plan.tensor_parallel),
        "PIPELINE_PARALLEL": str(plan.pipeline_parallel),
        "CONTEXT_PARALLEL": str(plan.context_parallel),
        "SHARD_DEGREE": str(plan.shard_degree if "shard_degree" in backends()[plan.backend].degrees else 0),
        "SMP_BACKEND": (run.smp.backend if run.smp else None) or "auto",
        "GLOBAL_BATCH": str(plan.global_batch),
        "MICRO_BATCH": str(plan.micro_batch),
        "SEED": str(plan.seed),
        "MIRROR": run.checkpoint.mirror or "",
    }


def stage_settings(run: TrainingRun, stage: str) -> Mapping[str, str]:
    """Return what only `stage` of `run` sets; nothing for a stage that has no settings of a run's."""
    if stage in TRAIN:
        begin = {"FROM_WEIGHTS": str(run.from_weights).lower()} if stage == "train" else {}
        return {
            **begin,
            "STEPS": str(run.steps),
            "LEARNING_RATE": f"{run.learning_rate:g}",
            "WARMUP_STEPS": str(run.plan.warmup_steps),
            "WEIGHT_DECAY": f"{run.weight_decay:g}",
            "CHECKPOINT_EVERY": str(run.checkpoint.every),
            "CHECKPOINTS_KEPT": str(run.checkpoint.keep),
            "MAX_RESTARTS": str(run.max_restarts),
        }
    if stage == "tokenize":
        return {"DATA": run.data.place, "TEXT_FIELD": run.data.text_field}
    if stage == "export" and run.export is not None:
        export = run.export
        return {
            "EXPORT_TO": export.to,
            "SERVER": export.server.value,
            "SERVED_ON": export.instance_type,
            "SERVED_TENSOR_PARALLEL": str(export.tensor_parallel or ""),
            "SERVED_BATCH": str(export.batch_size),
            "SERVED_SEQUENCE_LENGTH": str(export.sequence_length),
            "EXPORT_ENVIRONMENT": export.environment or "",
        }
    return {}


def directives(run: TrainingRun, stage: str) -> Mapping[str, str]:
    """Return what `stage` of `run` asks of Slurm: the values of its `#SBATCH --<key>=` lines."""
    nodes = run.plan.nodes if stage in _ON_ALL_NODES else 1
    return {"job-name": f"{run.name}-{stage}", "partition": run.partition.name, "nodes": str(nodes)}
