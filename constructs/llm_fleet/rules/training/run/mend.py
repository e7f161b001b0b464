"""Finds what to write instead of a spread that is wrong: the smallest change that leaves nothing wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.codes import Code
from llm_fleet.rules.training.run.changed import changed
from llm_fleet.rules.training.run.degrees import context_parts, degrees_of_cores, divisors
from llm_fleet.rules.training.run.faults import faults_of
from llm_fleet.rules.training.run.plan import RunPlan, plan_run
from llm_fleet.rules.training.run.planned import planned
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.smp import smp_problems
from llm_fleet.rules.training.run.terms import ActivationCheckpointing

Changes = Mapping[str, Any]

_COSTS = {
    "activation_checkpointing": 1.0,
    "global_batch": 1.1,
    "micro_batch": 1.2,
    "tensor_parallel": 2.0,
    "shard_degree": 2.1,
    "pipeline_parallel": 2.5,
    "context_parallel": 2.6,
    "nodes": 3.0,
    "sequence_length": 4.0,
}
"""What is asked of the user by changing each: the dearer, the later it is tried."""
_TRIED_UNASKED = ("pipeline_parallel", "shard_degree")
"""Degrees whose defaults may not do."""
_NODES_TRIED = 16
_DISTANCE = 0.01
"""Of two changes of one value, the nearer comes first."""
_LEFT_OUT = 0.5
"""A number that can be written is better known to its reader than a default."""
_LARGEST_BATCH = 65536
"""Above it no micro batch is looked for."""
_NODES_BEYOND = 64
"""As many nodes as an offer for a larger partition may have."""


def mend(run: RunLike, *, memory: bool = True) -> Changes | None:
    """Return the cheapest changes, by attribute, that leave nothing wrong with the spread of `run`.

    `None` stands for leaving a key out. Returns `None` where no change was found. Without `memory`, it need not fit.
    """
    plan = plan_run(run)
    if plan is None:
        return None
    tried = sorted(_tried(run, plan), key=lambda changes: _cost(run, plan, changes))
    return next((fitted for changes in tried if (fitted := _fitted(run, changes, memory)) is not None), None)


def enough_nodes(run: RunLike) -> tuple[int, Changes] | None:
    """Return how many nodes a partition would need for `run`, with what else to change; `None` where none helps."""
    nodes = run.partition.nodes
    while nodes < _NODES_BEYOND:
        nodes = min(2 * nodes, _NODES_BEYOND)
        larger = changed(run, {"partition": replace(run.partition, nodes=nodes), "nodes": nodes})
        changes: Changes | None = {} if is_good(larger) else mend(larger)
        if changes is not None:
            return nodes, changes
    return None


def is_good(run: RunLike, *, memory: bool = True) -> bool:
    """Return whether nothing is wrong with the spread of `run`; without `memory`, but for how much it takes."""
    faults = [fault for fault in faults_of(run) if memory or fault.code is not Code.JOB_MEMORY]
    return not faults and not smp_problems(run)


def _tried(run: RunLike, plan: RunPlan) -> Iterator[Changes]:
    options = _options(run, plan)
    for values in product(*options.values()):
        yield {name: value for name, value in zip(options, values, strict=True) if value != getattr(run, name)}


def _options(run: RunLike, plan: RunPlan) -> Mapping[str, Sequence[Any]]:
    """Return the values to try of each attribute, its own first; `None` leaves it out."""
    offered = backends()[plan.backend].degrees
    layers = run.shape.layers if run.shape is not None else 1
    of_world = divisors(plan.world)
    degrees = {
        "tensor_parallel": degrees_of_cores(plan),
        "pipeline_parallel": [each for each in divisors(layers) if each <= plan.world],
        "context_parallel": [each for each in of_world if each <= plan.accelerator.processes],
        "shard_degree": of_world,
    }
    options: dict[str, Sequence[Any]] = {}
    for name, values in degrees.items():
        own = getattr(run, name)
        if name not in offered:
            options[name] = [None]
        elif own is None:  # What is left out is the rules' own to choose.
            options[name] = [None, *(values if name in _TRIED_UNASKED else ())]
        else:
            options[name] = [own, *values, None]
    options["micro_batch"] = _smaller(run.micro_batch)
    options["activation_checkpointing"] = [run.activation_checkpointing]
    if plan.activation_checkpointing is not ActivationCheckpointing.FULL:
        options["activation_checkpointing"] = [run.activation_checkpointing, ActivationCheckpointing.FULL]
    options["nodes"] = [run.nodes, *_nodes(run, plan)]
    return options


def _smaller(batch: int) -> list[int]:
    """Return `batch` and what divides it, descending; of one that nobody means, itself and 1."""
    return [*reversed(divisors(batch))] if batch <= _LARGEST_BATCH else [batch, 1]


def _nodes(run: RunLike, plan: RunPlan) -> list[int]:
    """Return other numbers of nodes that the partition has, the nearest to that of the run."""
    first, last = max(1, plan.nodes - _NODES_TRIED), min(run.partition.nodes, plan.nodes + _NODES_TRIED)
    others = [each for each in range(first, last + 1) if each != plan.nodes]
    return sorted(others, key=lambda each: abs(each - plan.nodes))[:_NODES_TRIED]


def _cost(run: RunLike, plan: RunPlan, changes: Changes) -> float:
    total = 0.0
    for name, value in changes.items():
        own = getattr(plan, name)
        far = abs(value - own) if isinstance(value, int) and isinstance(own, int) else 0
        total += _COSTS[name] + (_LEFT_OUT if value is None else 0)
        total += _DISTANCE * far / (abs(own) + far if isinstance(own, int) and far else 1)
    return total


def _fitted(run: RunLike, changes: Changes, memory: bool) -> Changes | None:
    """Return `changes`, with sequence and batch such that they go with the rest; `None` where more is wrong."""
    plan = planned(changed(run, changes))
    if plan is None:
        return None
    fitted = dict(changes)
    length = _sequence(run, plan)
    if length is None:
        return None
    if run.sequence_length is not None and length != run.sequence_length:
        fitted["sequence_length"] = length
    at_once = plan.micro_batch * plan.data_parallel
    if run.global_batch is not None and run.global_batch % at_once:
        fitted["global_batch"] = max(1, round(run.global_batch / at_once)) * at_once
    return fitted if is_good(changed(run, fitted), memory=memory) else None


def _sequence(run: RunLike, plan: RunPlan) -> int | None:
    """Return the longest sequence, up to that of the run, that model and degrees can have."""
    longest = run.shape.max_sequence if run.shape is not None else None
    shared = plan.tensor_parallel if backends()[plan.backend].sequence_parallel else 1
    unit = shared * context_parts(plan)
    return min(plan.sequence_length, longest or plan.sequence_length) // unit * unit or None
