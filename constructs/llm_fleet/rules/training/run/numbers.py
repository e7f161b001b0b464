"""The name and the single numbers of a run."""

from collections.abc import Iterator

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.run.protocols import RunLike

_NAME = Limit(minimum=1, maximum=63, pattern="[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_POSITIVE = (
    *("nodes", "sequence_length", "global_batch", "micro_batch", "tensor_parallel", "pipeline_parallel"),
    *("context_parallel", "shard_degree", "steps"),
)
_FROM_ZERO = ("warmup_steps", "seed", "max_restarts")


def check_run_name(name: str) -> list[Problem]:
    """Return what is wrong with a name that folders and Slurm's jobs bear."""
    return check_hyphenated_name(name, _NAME, Code.JOB_NAME, "name", what="job name")


def check_numbers(run: RunLike) -> Iterator[Problem]:
    """Return what is wrong with the numbers of `run`, each by itself."""
    for names, least in ((_POSITIVE, 1), (_FROM_ZERO, 0)):
        for name in names:
            yield from _check(getattr(run, name), least, name)
    for name in ("every", "keep"):
        yield from _check(getattr(run.checkpoint, name), 1, "checkpoint", name)
    warmup = run.warmup_steps
    if warmup is not None and _known(run.steps, warmup) and 0 < run.steps < warmup:
        yield _wrong("the learning rate would still rise at the end", f"write {run.steps} or less", "warmup_steps", run)
    if _known(run.learning_rate) and not 0 < run.learning_rate < 1:
        yield _wrong("no learning rate is outside of 0 and 1", "write e.g. 0.0003", "learning_rate", run)
    if _known(run.weight_decay) and not 0 <= run.weight_decay < 1:
        yield _wrong("no weight decay is negative, or 1 and above", "write e.g. 0.1", "weight_decay", run)


def _known(*values: object) -> bool:
    """Return whether all are numbers: of a wrong type, a value is told already, and stands here for one passed over."""
    return not any(map(is_unresolved, values))


def _check(value: int | None, least: int, *path: str) -> list[Problem]:
    return check_number(value, Limit(minimum=least), Code.JOB_NUMBER, *path, what=path[-1].replace("_", " "))


def _wrong(message: str, remedy: str, name: str, run: RunLike) -> Problem:
    return Problem(code=Code.JOB_NUMBER, message=message, remedy=remedy, path=(name,), value=getattr(run, name))
