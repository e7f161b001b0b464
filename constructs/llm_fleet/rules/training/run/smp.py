"""The rules of SMP v2 asked of a run."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.changed import changed
from llm_fleet.rules.training.run.plan import RunPlan, backend_of, plan_run
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.terms import ActivationCheckpointing, Backend
from llm_fleet.rules.training.smp import smp_remarks
from llm_fleet.rules.training.smp_place import check_smp_backend, check_smp_place, place_remarks
from llm_fleet.rules.training.smp_run import check_smp_in_run

_EXPERTS = 0
"""The training program's models are Llama's: none has experts."""


def smp_problems(run: RunLike, region: str | None = None) -> list[Problem]:
    """Return what is wrong with the degrees and the configuration of a run of `SMP`, or that another run has one."""
    plan = plan_run(run)
    if plan is None:
        return []
    if plan.backend is not Backend.SMP:
        return [] if run.smp is None else [_without_use(plan.backend)]
    found = check_smp_in_run(
        run.smp,
        _with_shards(run, plan.shard_degree),
        world_size=plan.world,
        activation_checkpointing=plan.activation_checkpointing is not ActivationCheckpointing.NONE,
        experts=_EXPERTS,
    )
    place = [replace(each, path=("backend",)) for each in check_smp_place(run.partition.instance_type, region)]
    backend = None if run.smp is None else run.smp.backend
    own = check_smp_backend(backend, run.partition.instance_type)
    return [*place, *found, *_of_program(plan), *(problem.under("smp") for problem in own)]


def _of_program(plan: RunPlan) -> Iterator[Problem]:
    """Return what not the library but the program that uses it refuses, on the nodes."""
    if plan.activation_checkpointing is ActivationCheckpointing.SELECTIVE:
        yield Problem(
            code=Code.SMP_CHECKPOINTING,
            message="with SMP v2, layers are checkpointed whole or not at all",
            remedy="write activation_checkpointing='full', or leave activation_checkpointing out",
            path=("activation_checkpointing",),
            value=plan.activation_checkpointing,
            allowed="full, none",
        )


def smp_remarks_of(run: RunLike) -> list[str]:
    """Return what a user should know of a run of `SMP` though nothing is wrong with it, a sentence each."""
    if backend_of(run) is not Backend.SMP:
        return []
    return [*place_remarks(run.partition.instance_type), *(smp_remarks(run.smp) if run.smp is not None else [])]


def _with_shards(run: RunLike, degree: int) -> RunLike:
    """Return `run` with the shard degree that its batch files tell, where nobody told one."""
    open_to_us = run.shard_degree is None and (run.smp is None or run.smp.hybrid_shard_degree is None)
    return changed(run, {"shard_degree": degree}) if open_to_us else run


def _without_use(backend: Backend) -> Problem:
    return Problem(
        code=Code.JOB_SMP,
        message=f"the backend {backend.value} does not read a configuration of SMP v2",
        remedy="leave smp out, or write backend='smp'",
        path=("smp",),
    )
