"""What a job and its configuration of SMP v2 both can tell: each of it is told once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.smp import check_smp_seeds, check_smp_values
from llm_fleet.spec.smp import SmpConfiguration

_OF_RUN = {
    "hybrid_shard_degree": "shard_degree",
    "tensor_parallel_degree": "tensor_parallel",
    "context_parallel_degree": "context_parallel",
    "random_seed": "seed",
}
"""A key of SMP by the attribute of a job that means the same."""


class SmpRunLike(Protocol):
    """A job, as far as SMP shares it; `None` is what it leaves out."""

    @property
    def shard_degree(self) -> int | None:
        """Over how many processes the model is sharded."""
        ...

    @property
    def tensor_parallel(self) -> int | None:
        """Over how many processes each layer is spread."""
        ...

    @property
    def context_parallel(self) -> int | None:
        """Over how many processes each sequence is spread."""
        ...

    @property
    def seed(self) -> int | None:
        """The seed of the job."""
        ...


def check_smp_run(smp: SmpConfiguration, run: SmpRunLike) -> list[Problem]:
    """Return which degrees `smp` tells otherwise than its job, at the keys of `smp`; its seed may be another."""
    found: list[Problem] = []
    for name, of_run in _OF_RUN.items():
        if of_run == "seed":
            continue
        mine, theirs = getattr(smp, name), getattr(run, of_run)
        if mine is None or theirs is None or is_unresolved(mine) or is_unresolved(theirs) or mine == theirs:
            continue
        found.append(
            Problem(
                code=Code.SMP_TWICE,
                message=f"the job says {of_run}: {theirs}, and its SMP configuration another number",
                remedy=f"leave {name} out: it is the job's {of_run}",
                path=(name,),
                value=mine,
                allowed=str(theirs),
            )
        )
    return found


def check_smp_in_run(
    smp: SmpConfiguration | None,
    run: SmpRunLike,
    *,
    world_size: int | None = None,
    activation_checkpointing: bool | None = None,
    experts: int | None = None,
) -> list[Problem]:
    """Return all that is wrong with the configuration that a job of backend `smp` ends up with.

    Paths are the job's: `smp` and the key, or the job's own attribute where the value is from there. `smp` is `None`
    where the job says nothing but degrees; the other arguments are those of `check_smp`.
    """
    taken = _values_of_run(run) if smp is None else run_values(smp, run)
    values = {name: taken.get(name, getattr(smp, name, None)) for name in smp_keys()}
    found = check_smp_values(
        values, world_size=world_size, activation_checkpointing=activation_checkpointing, experts=experts
    )
    at_home = [
        replace(problem, path=(_OF_RUN[str(problem.path[0])],)) if problem.path[0] in taken else problem.under("smp")
        for problem in found
    ]
    if smp is None:
        return at_home
    return [*(problem.under("smp") for problem in (*check_smp_seeds(smp), *check_smp_run(smp, run))), *at_home]


def _values_of_run(run: SmpRunLike) -> Mapping[str, Any]:
    told = {name: getattr(run, of_run) for name, of_run in _OF_RUN.items()}
    return {name: value for name, value in told.items() if value is not None}


def run_values(smp: SmpConfiguration, run: SmpRunLike) -> Mapping[str, Any]:
    """Return what `smp` leaves out and `run` tells, by the keys of SMP."""
    told = {name: value for name, value in _values_of_run(run).items() if getattr(smp, name) is None}
    if smp.tensor_parallel_seed is not None:
        told.pop("random_seed", None)
    return told
