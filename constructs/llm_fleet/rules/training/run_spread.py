"""Whether a run can be spread over its processes as requested, and the smallest change if it cannot."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import in_gib
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.training.run_plan import (
    MemoryEstimate,
    RunPlan,
    accelerator_of,
    backend_of,
    context_parts,
    degree_of,
    degrees_of_cores,
    divisors,
    estimate,
    plan_run,
    planned,
    possible_tensor_parallel,
    undivided,
)
from llm_fleet.rules.training.smp_run import in_words_of_smp, path_in_smp, smp_problems, with_degrees_of_smp
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend, PlacedRun
from llm_fleet.spec.model_shape import TrainedShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A problem without its remedy, which `fix` finds by trying changes."""

    code: Code
    message: str
    path: tuple[PathPart, ...]
    value: Any = None
    allowed: str = ""


_OF = {"neuron": "a NeuronCore", "gpu": "a GPU", "none": "a process"}


def breakdown(found: MemoryEstimate) -> str:
    """Return the parts of an estimate as text, e.g. `weights 1.6 GiB, gradients 3.1 GiB, …`."""
    parts = {name: getattr(found, name) for name in ("weights", "gradients", "optimizer", "activations", "logits")}
    return ", ".join(f"{name} {in_gib(size)}" for name, size in parts.items())


def spread(plan: RunPlan) -> str:
    """Return the parallelism of a run as text, e.g. `4 nodes x 32 processes, tensor parallel 8, data parallel 16`."""
    words = {"tensor": plan.tensor_parallel, "pipeline": plan.pipeline_parallel, "context": plan.context_parallel}
    degrees = [f"{name} parallel {degree}" for name, degree in words.items() if degree > 1]
    shards = [f"shard degree {plan.shard_degree}"] if plan.shard_degree > 1 else []
    nodes = f"{plan.nodes} node{'' if plan.nodes == 1 else 's'} x {plan.accelerator.processes} processes"
    return ", ".join([nodes, *degrees, *shards, f"data parallel {plan.data_parallel}"])


def memory_fault(run: PlacedRun, plan: RunPlan, found: MemoryEstimate) -> Fault:
    """Return the fault that `run` does not fit, with the memory of each part."""
    path = "tensor_parallel" if run.tensor_parallel is not None else "model"
    return Fault(
        code=Code.JOB_MEMORY,
        message=f"the model does not fit: a process needs an estimated {in_gib(found.total)} ({breakdown(found)}), and "
        f"{_OF[plan.accelerator.kind]} of {run.partition.instance_type} has {in_gib(found.usable)} usable of "
        f"{in_gib(found.whole)}. This is with {spread(plan)}, micro batch {plan.micro_batch} and sequence length "
        f"{plan.sequence_length}",
        path=(path,),
        value=getattr(run, path),
    )


_DEGREE_WORDS = {
    "tensor_parallel": "tensor parallel",
    "pipeline_parallel": "pipeline parallel",
    "context_parallel": "context parallel",
    "shard_degree": "shard degree",
}


def faults_of(run: PlacedRun) -> list[Fault]:
    """Return what is wrong with how `run` is spread; nothing for an unknown instance type.

    The batch is checked only when the degrees are right, and the memory only when both are.
    """
    plan = planned(run)
    if plan is None:
        return []
    of_degrees = [*_not_offered(run, plan), *_tensor_parallel(run, plan), *_model(run, plan)]
    of_world = [] if of_degrees else [*_world(run, plan), *_shards(run, plan)]
    found = [*of_degrees, *of_world, *_sequence_faults(run, plan, divided=not (of_degrees or of_world))]
    if not (of_degrees or of_world):
        found += _batch(run, plan)
    return found or _memory(run, plan)


def _not_offered(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    for degree, words in _DEGREE_WORDS.items():
        value = getattr(run, degree)
        if value is not None and value > 1 and degree not in backends()[plan.backend].degrees:
            yield Fault(
                code=Code.JOB_DEGREE,
                message=f"the backend {plan.backend.value} does not support {words}",
                path=(degree,),
                value=value,
                allowed=", ".join(name for name in _DEGREE_WORDS if name in backends()[plan.backend].degrees) or "none",
            )


def _tensor_parallel(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    degree = plan.tensor_parallel
    of_cores = degrees_of_cores(plan)
    if degree == 1 or degree in of_cores or "tensor_parallel" not in backends()[plan.backend].degrees:
        return
    within = backends()[plan.backend].tensor_parallel_within_node
    cores = plan.accelerator.processes if within else plan.world
    if degree > cores and not within:
        message = f"tensor parallel {degree} is more than the {cores} processes in total"
    elif degree > cores:
        message = f"tensor parallel {degree} would split a layer over several nodes, which have {cores} processes each"
    elif cores % degree:
        message = f"{cores} processes cannot be divided into groups of {degree}"
    else:
        message = f"the NeuronCores of {run.partition.instance_type} are not connected in groups of {degree}"
    yield Fault(
        code=Code.JOB_TENSOR_PARALLEL,
        message=message,
        path=("tensor_parallel",),
        value=degree,
        allowed=_listed(possible_tensor_parallel(plan, run.shape) or of_cores),
    )


def _model(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    shape = run.shape
    if shape is None:
        return
    if plan.tensor_parallel in degrees_of_cores(plan):  # Another rule reports other degrees.
        yield from _across_tensors(plan, shape)
    if shape.layers % plan.pipeline_parallel and "pipeline_parallel" in backends()[plan.backend].degrees:
        yield Fault(
            code=Code.JOB_MODEL_DIVISION,
            message=f"{shape.layers} layers cannot be divided evenly into {plan.pipeline_parallel} stages",
            path=("pipeline_parallel",),
            value=plan.pipeline_parallel,
            allowed=_listed(divisors(shape.layers)),
        )


def _across_tensors(plan: RunPlan, shape: TrainedShape) -> Iterator[Fault]:
    found = undivided(shape, plan.tensor_parallel)
    if found:
        what = " and ".join(f"{count} {words}" for words, count in found)
        yield Fault(
            code=Code.JOB_MODEL_DIVISION,
            message=f"the model has {what}, which cannot be divided evenly among {plan.tensor_parallel} processes",
            path=("tensor_parallel",),
            value=plan.tensor_parallel,
            allowed=_listed(possible_tensor_parallel(plan, shape)),
        )


def _world(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    if plan.world % plan.model_parallel == 0:
        return
    degrees = ("tensor_parallel", "pipeline_parallel", "context_parallel")
    product = " x ".join(f"{_DEGREE_WORDS[name]} {getattr(plan, name)}" for name in degrees if getattr(plan, name) > 1)
    keys = ("nodes", "pipeline_parallel", "context_parallel", "tensor_parallel")
    key = next((each for each in keys if getattr(run, each) is not None), "model")
    yield Fault(
        code=Code.JOB_WORLD_SIZE,
        message=f"{plan.world} processes ({plan.nodes} nodes of {plan.accelerator.processes}) cannot be divided by "
        f"{plan.model_parallel}, {product}",
        path=(key,),
        value=getattr(plan, key, None),
    )


def _shards(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    degree = degree_of(run, "shard_degree")
    if plan.backend is not Backend.FSDP or degree is None or plan.world % degree == 0:
        return
    yield Fault(
        code=Code.JOB_SHARD_DEGREE,
        message=f"{plan.world} processes cannot be divided into groups of {degree}, each with a complete model",
        path=("shard_degree",),
        value=degree,
        allowed=_listed(divisors(plan.world)),
    )


def _batch(run: PlacedRun, plan: RunPlan) -> Iterator[Fault]:
    per_step = plan.micro_batch * plan.data_parallel
    if plan.global_batch % per_step == 0:
        return
    below = plan.global_batch // per_step * per_step
    near = [each for each in (below, below + per_step) if each]
    yield Fault(
        code=Code.JOB_BATCH,
        message=f"a global batch of {plan.global_batch} cannot be divided by {per_step}: micro batch "
        f"{plan.micro_batch} x data parallel {plan.data_parallel} ({plan.world} processes / {plan.model_parallel})",
        path=("global_batch",),
        value=plan.global_batch,
        allowed=f"a multiple of {per_step}, e.g. {' or '.join(map(str, near))}",
    )


def _sequence_faults(run: PlacedRun, plan: RunPlan, *, divided: bool) -> Iterator[Fault]:
    longest = None if run.shape is None else run.shape.max_sequence
    length = plan.sequence_length
    if longest is not None and length > longest:
        message = f"the model supports sequences of up to {longest} tokens"
    elif not divided:
        return
    elif backends()[plan.backend].sequence_parallel and length % plan.tensor_parallel:
        message = f"a sequence of {length} tokens cannot be divided evenly by tensor parallel {plan.tensor_parallel}"
    elif length % context_parts(plan):
        message = f"a sequence of {length} tokens cannot be split into {context_parts(plan)} equal parts, two for each "
        message += f"process of context parallel {plan.context_parallel}"
    else:
        return
    yield Fault(code=Code.JOB_SEQUENCE, message=message, path=("sequence_length",), value=length)


def _memory(run: PlacedRun, plan: RunPlan) -> list[Fault]:
    found = estimate(plan, run.shape)
    return [] if found is None or found.fits else [memory_fault(run, plan, found)]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


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
"""The cost of each change to the user; expensive ones are tried last."""
_TRIED_UNREQUESTED = ("pipeline_parallel", "shard_degree")
"""Degrees that are tried although the user did not set them, as their defaults may not fit."""
_NODES_TRIED = 16
_DISTANCE = 0.01
"""Of two changes of the same value, the smaller one is tried first."""
_LEFT_OUT = 0.5
"""Writing a number is preferred to removing it."""
_LARGEST_BATCH = 65536
"""Above it no smaller micro batch is tried, other than 1."""
_NODES_BEYOND = 64
"""The maximum number of nodes in a proposal for a larger partition."""


def fix(run: PlacedRun, *, memory: bool = True) -> Changes | None:
    """Return the cheapest changes, by attribute, after which `run` can be spread.

    A value of `None` removes the key. Returns `None` when no change was found. Without `memory`, it need not fit.
    """
    plan = plan_run(run)
    if plan is None:
        return None
    tried = sorted(_tried(run, plan), key=lambda changes: _cost(run, plan, changes))
    return next((fitted for changes in tried if (fitted := _fitted(run, changes, memory)) is not None), None)


def enough_nodes(run: PlacedRun) -> tuple[int, Changes] | None:
    """Return the number of nodes that `run` needs, with other changes; `None` when no number is enough."""
    nodes = run.partition.nodes
    while nodes < _NODES_BEYOND:
        nodes = min(2 * nodes, _NODES_BEYOND)
        larger = run.model_copy(update={"partition": replace(run.partition, nodes=nodes), "nodes": nodes})
        changes: Changes | None = {} if is_good(larger) else fix(larger)
        if changes is not None:
            return nodes, changes
    return None


def is_good(run: PlacedRun, *, memory: bool = True) -> bool:
    """Return whether `run` can be spread; without `memory`, whether it fits is not checked."""
    faults = [fault for fault in faults_of(run) if memory or fault.code is not Code.JOB_MEMORY]
    return not faults and not smp_problems(run)


def _tried(run: PlacedRun, plan: RunPlan) -> Iterator[Changes]:
    options = _options(run, plan)
    for values in product(*options.values()):
        yield {name: value for name, value in zip(options, values, strict=True) if value != getattr(run, name)}


def _options(run: PlacedRun, plan: RunPlan) -> Mapping[str, Sequence[Any]]:
    """Return the values to try of each attribute, its own first; `None` removes it."""
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
        elif own is None:  # Defaults are chosen by the rules.
            options[name] = [None, *(values if name in _TRIED_UNREQUESTED else ())]
        else:
            options[name] = [own, *values, None]
    options["micro_batch"] = _smaller(run.micro_batch)
    options["activation_checkpointing"] = [run.activation_checkpointing]
    if plan.activation_checkpointing is not ActivationCheckpointing.FULL:
        options["activation_checkpointing"] = [run.activation_checkpointing, ActivationCheckpointing.FULL]
    options["nodes"] = [run.nodes, *_nodes(run, plan)]
    return options


def _smaller(batch: int) -> list[int]:
    """Return `batch` and its divisors, descending; for an implausibly large one, itself and 1."""
    return [*reversed(divisors(batch))] if batch <= _LARGEST_BATCH else [batch, 1]


def _nodes(run: PlacedRun, plan: RunPlan) -> list[int]:
    """Return other numbers of nodes within the partition, nearest to that of the run first."""
    first, last = max(1, plan.nodes - _NODES_TRIED), min(run.partition.nodes, plan.nodes + _NODES_TRIED)
    others = [each for each in range(first, last + 1) if each != plan.nodes]
    return sorted(others, key=lambda each: abs(each - plan.nodes))[:_NODES_TRIED]


def _cost(run: PlacedRun, plan: RunPlan, changes: Changes) -> float:
    total = 0.0
    for name, value in changes.items():
        own = getattr(plan, name)
        far = abs(value - own) if isinstance(value, int) and isinstance(own, int) else 0
        total += _COSTS[name] + (_LEFT_OUT if value is None else 0)
        total += _DISTANCE * far / (abs(own) + far if isinstance(own, int) and far else 1)
    return total


def _fitted(run: PlacedRun, changes: Changes, memory: bool) -> Changes | None:
    """Return `changes`, with matching sequence length and batch; `None` when another fault remains."""
    plan = planned(run.model_copy(update=changes))
    if plan is None:
        return None
    fitted = dict(changes)
    length = _longest_sequence(run, plan)
    if length is None:
        return None
    if run.sequence_length is not None and length != run.sequence_length:
        fitted["sequence_length"] = length
    per_step = plan.micro_batch * plan.data_parallel
    if run.global_batch is not None and run.global_batch % per_step:
        fitted["global_batch"] = max(1, round(run.global_batch / per_step)) * per_step
    return fitted if is_good(run.model_copy(update=fitted), memory=memory) else None


def _longest_sequence(run: PlacedRun, plan: RunPlan) -> int | None:
    """Return the longest sequence, up to that of the run, that model and degrees allow."""
    longest = run.shape.max_sequence if run.shape is not None else None
    shared = plan.tensor_parallel if backends()[plan.backend].sequence_parallel else 1
    unit = shared * context_parts(plan)
    return min(plan.sequence_length, longest or plan.sequence_length) // unit * unit or None


_DEGREES_OF_SMP = ("tensor_parallel", "context_parallel", "shard_degree")
_MORE_MEMORY = "use an instance type with more memory, a shorter sequence or a smaller model"
_WITH_PIPELINE = "use an instance type with more memory, a backend with pipeline parallelism, or a smaller model"


def check_spread(run: PlacedRun) -> list[Problem]:
    """Return what is wrong with degrees, batch, sequence and memory of `run`. With all remedies applied, it passes."""
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


def _follows(problem: Problem, found: list[Problem], run: PlacedRun) -> bool:
    """Whether a problem of SMP repeats one of `found`, or is of a default that depends on a wrong degree."""
    left_out = problem.path[0] in _DEGREES_OF_SMP and getattr(run, str(problem.path[0])) is None
    return problem.path in [each.path for each in found] or (bool(found) and left_out)


def _in_run(problem: Problem, remedy: str) -> Problem:
    """Return a problem of SMP with the run's remedy, when it is about a degree of the run itself."""
    return replace(problem, remedy=remedy) if problem.path[0] in _DEGREES_OF_SMP else problem


def _remedy(run: PlacedRun) -> str:
    """Return what to write. When nothing fits the memory, that comes after the remedy for the other faults."""
    changes = fix(run)
    if changes:
        return in_words(changes)
    larger, next_to_memory = enough_nodes(run), fix(run, memory=False)
    if larger is None:
        repaired = (
            f"{in_words(next_to_memory)}; after that, the model still does not fit the memory of its nodes: "
            if next_to_memory
            else ""
        )
        return f"{repaired}{_hopeless(run)}"
    nodes, next_to = larger
    written = {**next_to, **({} if run.nodes is None else {"nodes": nodes})}
    why = ": on fewer nodes the model does not fit their memory" if next_to_memory else ""
    return f"give the partition {nodes} nodes{', and ' if written else ''}{in_words(written)}{why}"


def _hopeless(run: PlacedRun) -> str:
    accelerator = accelerator_of(run.partition.instance_type, backend_of(run))
    offered = [
        each for each in backends().values() if each.families is not None and "pipeline_parallel" in each.degrees
    ]
    family = "" if accelerator is None else accelerator.family
    other = any(family in (each.families or ()) for each in offered) and backend_of(run) is not Backend.NEMO_MEGATRON
    return _WITH_PIPELINE if other else _MORE_MEMORY


def in_words(changes: Changes) -> str:
    """Return what to write, in Python; for fleet files it is translated."""
    written = [f"{name}={_python(value)}" for name, value in changes.items() if value is not None]
    left = [name for name, value in changes.items() if value is None]
    words = [f"write {' and '.join(written)}"] if written else []
    return " and ".join([*words, *(f"remove {name}" for name in left)])


def _python(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else str(value)
