"""A training run, and the settings that its job reads."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.training_environments import backends, job_stages
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.run import known_trained_shape, source_of
from llm_fleet.rules.training.run_plan import MemoryEstimate, RunPlan, estimate, planned
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import Backend, PlacedRun
from llm_fleet.spec.model_shape import ModelSource


class TrainingRun(PlacedRun):
    """A training run: model, training data, partition, and parallelism.

    Missing values are derived from the partition. Raises `FleetError` with all errors that would make the job
    fail on the cluster: degrees or batch sizes that do not divide, a model that does not fit into the memory of its
    accelerators (an estimate), each with a remedy.
    """

    if not TYPE_CHECKING:

        def __init__(self, **given: Any) -> None:
            """Derive the shape from the model's name; raise `FleetError` with all errors."""
            if given.get("shape") is None and isinstance(given.get("model"), str):
                given["shape"] = known_trained_shape(given["model"])
            super().__init__(**given)
            raise_problems(check_run(self), subject=f"TrainingRun {self.name!r}")

    @property
    def plan(self) -> RunPlan:
        """The run with all its defaults."""
        found = planned(self)
        if found is None:
            raise AssertionError("a run whose instance type is unknown raises when it is made")
        return found

    @property
    def memory(self) -> MemoryEstimate | None:
        """Estimated memory of a process; `None` if the size of the model or of the memory is not known."""
        return estimate(self.plan, self.shape)


_LINE = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<rest>.*)")
_VALUE = re.compile(
    r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\#;&|<>()`])(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()`])*"""
)
"""A word for bash, quoted or not, without characters that would end it and begin a command."""
_EXPANDS = re.compile(r"[$`]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`NAME=value  # what it is`."""

    name: str
    """Upper case."""
    text: str
    """The value as bash reads it, with its quotes; empty for no value."""
    comment: str
    """The description, without the `#`."""
    line: int
    """Line number in the file, from 1."""

    @property
    def value(self) -> str | None:
        """The value for the job, or `None` if only bash on the node can expand it, e.g. `"${RUN}/x"`."""
        single = self.text.startswith("'") and self.text.count("'") == 2 and self.text.endswith("'")
        if _EXPANDS.search(self.text) and not single:
            return None
        return "".join(shlex.split(self.text))

    @classmethod
    def parse(cls, line: str, number: int) -> "Setting | None":
        """Return the setting in `line`, or `None` if there is none."""
        match = _LINE.fullmatch(line.strip())
        if match is None:
            return None
        rest = match["rest"]
        word = _VALUE.match(rest)
        text = word[0] if word else ""
        after = rest[len(text) :]
        comment = after.strip()
        if comment and not (after[0].isspace() and comment.startswith("#")):
            return None
        return cls(name=match["name"], text=text, comment=comment.lstrip("#").strip(), line=number)


def quoted(value: str) -> str:
    """Return `value` as one word of bash that is not expanded, whatever it contains; empty for an empty value."""
    return shlex.quote(value) if value else ""


def check_value(name: str, value: str) -> list[Problem]:
    """Check that `value` fits on one line of bash."""
    if all(character.isprintable() for character in value):
        return []
    return [
        Problem(
            code=Code.BATCH_SETTING,
            message="a setting is one line of text: this value has a line end or a non-printable character",
            value=value,
            remedy="remove this character",
            path=(name,),
        )
    ]


TRAIN = ("train", "train-nemo-megatron")
"""The stages that train; a run has one of them."""
_ON_ALL_NODES = frozenset({*TRAIN, "compile", "test-nccl", "test-nccom"})
"""Stages that use as many nodes as the run; all others use one."""


def run_settings(run: TrainingRun) -> Mapping[str, str]:
    """Return the settings that all stages of `run` share, those of `run.sh`."""
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
    """Return the settings that only `stage` of `run` has; empty for a stage without settings of a run."""
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
    """Return the sbatch options of `stage` of `run`: the values of its `#SBATCH --<key>=` lines."""
    nodes = run.plan.nodes if stage in _ON_ALL_NODES else 1
    return {"job-name": f"{run.name}-{stage}", "partition": run.partition.name, "nodes": str(nodes)}


_OF_NEURON = frozenset({"test-nccom", "compile"})
_OF_GPU = frozenset({"test-nccl"})
_OF_NEMO = frozenset({"train-nemo-megatron"})
_NOT_OF_NEMO = frozenset({"tokenize", "train", "convert", "export"})
"""neuronx-nemo-megatron has its own format of tokens and checkpoints."""


def stages_of(run: TrainingRun) -> tuple[str, ...]:
    """Return the stages of `run`, in the order in which they run."""
    left_out: set[str] = set()
    backend = run.plan.backend
    if backend not in (Backend.NEURON, Backend.NEMO_MEGATRON):
        left_out |= _OF_NEURON
    if backend not in (Backend.FSDP, Backend.SMP):
        left_out |= _OF_GPU
    left_out |= _NOT_OF_NEMO if backend is Backend.NEMO_MEGATRON else _OF_NEMO
    if run.export is None:
        left_out |= {"export"}
    return tuple(name for name in job_stages() if name not in left_out)


def check_stages(stages: Iterable[str], allowed: Iterable[str], *, why: str = "") -> list[Problem]:
    """Check that each of `stages` is one of `allowed`; `why` is the message for the others."""
    names = list(allowed)
    return [
        Problem(
            code=Code.BATCH_STAGE,
            message=why if stage in job_stages() and why else "unknown stage",
            value=stage,
            allowed=", ".join(names),
            remedy=did_you_mean(stage, names, otherwise="choose one of the allowed stages"),
        )
        for stage in stages
        if stage not in names
    ]
