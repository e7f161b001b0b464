"""Whether a run can be spread as it asks, with what to write where it cannot."""

from dataclasses import replace
from typing import Any

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.accelerator import accelerator_of
from llm_fleet.rules.training.run.faults import faults_of
from llm_fleet.rules.training.run.mend import Changes, enough_nodes, mend
from llm_fleet.rules.training.run.plan import backend_of
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.smp import smp_problems
from llm_fleet.rules.training.run.smp_degrees import in_words_of_smp, path_in_smp, with_degrees_of_smp
from llm_fleet.rules.training.run.terms import Backend

_DEGREES = ("tensor_parallel", "context_parallel", "shard_degree")
_MORE_MEMORY = "take instances with more memory, a shorter sequence or a smaller model"
_WITH_PIPELINE = "take instances with more memory, a backend with pipeline parallel, or a smaller model"


def check_spread(run: RunLike) -> list[Problem]:
    """Return what is wrong with degrees, batch, sequence and memory of `run`. Its remedies, all followed, pass."""
    of_smp = smp_problems(run)
    lifted = with_degrees_of_smp(run)
    found = faults_of(lifted)
    if not found and not of_smp:
        return []
    remedy = _remedy(lifted)
    problems = [
        Problem(
            code=fault.code,
            message=fault.message,
            remedy=in_words_of_smp(remedy, run),
            path=path_in_smp(fault.path, run),
            value=fault.value,
            allowed=fault.allowed,
        )
        for fault in found
    ]
    return [*problems, *(_in_run(each, remedy) for each in of_smp if not _follows(each, problems, run))]


def _follows(problem: Problem, found: list[Problem], run: RunLike) -> bool:
    """Whether a problem of SMP is one of `found` already, or of a default that follows from a wrong degree."""
    left_out = problem.path[0] in _DEGREES and getattr(run, str(problem.path[0])) is None
    return problem.path in [each.path for each in found] or (bool(found) and left_out)


def _in_run(problem: Problem, remedy: str) -> Problem:
    """Return a problem of SMP with the run's words, where a degree of the run itself is wrong."""
    return replace(problem, remedy=remedy) if problem.path[0] in _DEGREES else problem


def _remedy(run: RunLike) -> str:
    """Return what to write. Where no spread fits the memory, that comes after what is wrong besides."""
    changes = mend(run)
    if changes:
        return in_words(changes)
    larger, beside_memory = enough_nodes(run), mend(run, memory=False)
    if larger is None:
        mended = f"{in_words(beside_memory)}; then no spread fits the memory of its nodes: " if beside_memory else ""
        return f"{mended}{_hopeless(run)}"
    nodes, beside = larger
    written = {**beside, **({} if run.nodes is None else {"nodes": nodes})}
    why = ": on fewer it does not fit their memory" if beside_memory else ""
    return f"give the partition {nodes} nodes{', and ' if written else ''}{in_words(written)}{why}"


def _hopeless(run: RunLike) -> str:
    accelerator = accelerator_of(run.partition.instance_type, backend_of(run))
    offered = [
        each for each in backends().values() if each.families is not None and "pipeline_parallel" in each.degrees
    ]
    family = "" if accelerator is None else accelerator.family
    other = any(family in (each.families or ()) for each in offered) and backend_of(run) is not Backend.NEMO_MEGATRON
    return _WITH_PIPELINE if other else _MORE_MEMORY


def in_words(changes: Changes) -> str:
    """Return what to write, in Python; the fleet file's words are made of it."""
    written = [f"{name}={_python(value)}" for name, value in changes.items() if value is not None]
    left = [name for name, value in changes.items() if value is None]
    words = [f"write {' and '.join(written)}"] if written else []
    return " and ".join([*words, *(f"leave {name} out" for name in left)])


def _python(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)
