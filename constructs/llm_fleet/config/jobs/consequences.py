"""What follows for a job from a wrong value elsewhere, so that one slip is told once."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.training.run_forms import SPREAD

_ELSEWHERE = frozenset({"clusters", "storage", "services"})
_OF_SPREAD = frozenset(
    {
        Code.JOB_DEGREE,
        Code.JOB_TENSOR_PARALLEL,
        Code.JOB_MODEL_DIVISION,
        Code.JOB_WORLD_SIZE,
        Code.JOB_BATCH,
        Code.JOB_SEQUENCE,
        Code.JOB_SHARD_DEGREE,
        Code.JOB_MEMORY,
        Code.JOB_SMP,
        Code.JOB_CHECKPOINT_ROOM,
        Code.MODEL_SHAPE_UNKNOWN,
        Code.SMP_WORLD_SIZE,
        Code.SMP_CONTEXT,
    }
)


_SPREAD_KEYS = SPREAD | {"config"}


def follows_in_job(finding: Problem, cause: tuple[PathPart, ...]) -> bool:
    """Return whether `finding` judges a job by what has no right form at `cause`, a path in the file's keys."""
    if finding.path[:1] != ("jobs",):
        return False
    if cause[:1] == ("jobs",):
        same = finding.path[:2] == cause[:2] and cause[2:3] != () and cause[2] in _SPREAD_KEYS
        return same and finding.code in _OF_SPREAD
    return bool(cause) and cause[0] in _ELSEWHERE


def follows_from_cluster(finding: Problem, cause: Problem) -> bool:
    """Return whether a job is on instances that its cluster cannot have, which is told there."""
    of_job = finding.path[:1] == ("jobs",) and finding.code in (Code.JOB_PARTITION, Code.JOB_BACKEND)
    return of_job and cause.path[:1] == ("clusters",) and cause.path[-1] in ("type", "types")
