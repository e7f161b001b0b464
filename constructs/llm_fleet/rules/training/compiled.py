"""The cache of compiled graphs."""

from collections.abc import Iterator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.place import TrainingPlace, facts_of_type, neuron_families
from llm_fleet.rules.training.protocols import CompileCacheLike


def check_compile_cache(cache: CompileCacheLike | None, place: TrainingPlace) -> Iterator[Problem]:
    """Return why `cache` keeps nothing, or nothing is compiled into it."""
    if cache is None:
        return
    groups = place.compute_groups
    unknown = any(facts_of_type(name) is None for group in groups for name in group.instance_types)
    if not any(map(neuron_families, groups)) and not unknown:
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="no compute group has Neuron devices, and nothing else compiles ahead",
            remedy="leave the compile cache out",
            path=("compile_cache",),
        )
        return
    for name, unit in (("max_age_days", "day"), ("max_gib", "GiB")):
        value: object = getattr(cache, name)
        if value is None or is_unresolved(value) or (type(value) is int and value >= 1):
            continue
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="a cache like that would keep nothing",
            remedy=f"write 1 {unit} or more",
            path=("compile_cache", name),
            value=value,
        )
