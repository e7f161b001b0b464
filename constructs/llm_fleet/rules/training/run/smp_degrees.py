"""Degrees that a run's configuration of SMP tells in its place: judged as the run's own, and told where they stand."""

import re
from typing import cast

from llm_fleet.rules.problem import PathPart
from llm_fleet.rules.training.run.changed import changed
from llm_fleet.rules.training.run.plan import OF_SMP, told
from llm_fleet.rules.training.run.protocols import RunLike


def with_degrees_of_smp(run: RunLike) -> RunLike:
    """Return `run` with the degrees that its configuration of SMP tells as its own; the same run without such."""
    degrees = {own: told(run, own) for own in _told_there(run)}
    if not degrees:
        return run
    left = changed(cast(RunLike, run.smp), {OF_SMP[own]: None for own in degrees})
    return changed(run, {**degrees, "smp": left})


def path_in_smp(path: tuple[PathPart, ...], run: RunLike) -> tuple[PathPart, ...]:
    """Return `path` of a degree, or where the configuration of SMP tells it."""
    there = path[:1] and path[0] in _told_there(run)
    return ("smp", OF_SMP[str(path[0])]) if there else path


def in_words_of_smp(remedy: str, run: RunLike) -> str:
    """Return a remedy with the configuration's names of the degrees that it tells."""
    for own in _told_there(run):
        remedy = re.sub(rf"\b{own}\b", OF_SMP[own], remedy)
    return remedy


def _told_there(run: RunLike) -> list[str]:
    return [own for own in OF_SMP if getattr(run, own) is None and told(run, own) is not None]
