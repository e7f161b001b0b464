"""Which stages there are, and which of them a run has."""

from collections.abc import Iterable

from llm_fleet.catalog.job_settings import job_stages
from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.terms import Backend

_OF_NEURON = frozenset({"test-nccom", "compile"})
_OF_GPU = frozenset({"test-nccl"})
_OF_NEMO = frozenset({"train-nemo-megatron"})
_NOT_OF_NEMO = frozenset({"tokenize", "train", "convert", "export"})
"""neuronx-nemo-megatron has its own form of tokens and checkpoints."""


def stages_of(run: TrainingRun) -> tuple[str, ...]:
    """Return the stages that `run` has, in the order in which they are run."""
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
    """Check that each of `stages` is one of `allowed`; `why` says why others are not."""
    names = list(allowed)
    return [
        Problem(
            code=Code.BATCH_STAGE,
            message=why if stage in job_stages() and why else "there is no such stage",
            value=stage,
            allowed=", ".join(names),
            remedy=did_you_mean(stage, names, otherwise="name one of these"),
        )
        for stage in stages
        if stage not in names
    ]
