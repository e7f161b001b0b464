"""Everything that is wrong with how a run is spread over its processes."""

from collections.abc import Iterable, Iterator

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.codes import Code
from llm_fleet.rules.training.run.degrees import (
    context_parts,
    degrees_of_cores,
    divisors,
    possible_tensor_parallel,
    undivided,
)
from llm_fleet.rules.training.run.fault import Fault
from llm_fleet.rules.training.run.memory import estimate
from llm_fleet.rules.training.run.memory_words import memory_fault
from llm_fleet.rules.training.run.plan import RunPlan, told
from llm_fleet.rules.training.run.planned import planned
from llm_fleet.rules.training.run.protocols import RunLike, TrainedShapeLike
from llm_fleet.rules.training.run.terms import Backend

_DEGREES = {
    "tensor_parallel": "tensor parallel",
    "pipeline_parallel": "pipeline parallel",
    "context_parallel": "context parallel",
    "shard_degree": "shard degree",
}


def faults_of(run: RunLike) -> list[Fault]:
    """Return what is wrong with how `run` is spread; of a run whose instance type is unknown, nothing.

    What can only be judged with the degrees right waits for them: the batch, and then the memory.
    """
    plan = planned(run)
    if plan is None:
        return []
    of_degrees = [*_not_offered(run, plan), *_tensor_parallel(run, plan), *_model(run, plan)]
    of_world = [] if of_degrees else [*_world(run, plan), *_shards(run, plan)]
    found = [*of_degrees, *of_world, *_sequence(run, plan, divided=not (of_degrees or of_world))]
    if not (of_degrees or of_world):
        found += _batch(run, plan)
    return found or _memory(run, plan)


def _not_offered(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    for degree, words in _DEGREES.items():
        value = getattr(run, degree)
        if value is not None and value > 1 and degree not in backends()[plan.backend].degrees:
            yield Fault(
                code=Code.JOB_DEGREE,
                message=f"the backend {plan.backend.value} has no {words}",
                path=(degree,),
                value=value,
                allowed=", ".join(name for name in _DEGREES if name in backends()[plan.backend].degrees) or "none",
            )


def _tensor_parallel(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    degree = plan.tensor_parallel
    of_cores = degrees_of_cores(plan)
    if degree == 1 or degree in of_cores or "tensor_parallel" not in backends()[plan.backend].degrees:
        return
    within = backends()[plan.backend].tensor_parallel_within_node
    cores = plan.accelerator.processes if within else plan.world
    if degree > cores and not within:
        message = f"there are {cores} processes in all, which cannot share a layer out {degree} ways"
    elif degree > cores:
        message = f"tensor parallel {degree} would spread a layer over several nodes, of {cores} processes each"
    elif cores % degree:
        message = f"{cores} processes cannot be shared out in groups of {degree}"
    else:
        message = f"the cores of {run.partition.instance_type} are not joined so that {degree} share a layer"
    yield Fault(
        code=Code.JOB_TENSOR_PARALLEL,
        message=message,
        path=("tensor_parallel",),
        value=degree,
        allowed=_listed(possible_tensor_parallel(plan, run.shape) or of_cores),
    )


def _model(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    shape = run.shape
    if shape is None:
        return
    if plan.tensor_parallel in degrees_of_cores(plan):  # Else the degree is told already.
        yield from _across_tensors(plan, shape)
    if shape.layers % plan.pipeline_parallel and "pipeline_parallel" in backends()[plan.backend].degrees:
        yield Fault(
            code=Code.JOB_MODEL_DIVISION,
            message=f"{shape.layers} layers cannot be shared out evenly among {plan.pipeline_parallel} stages",
            path=("pipeline_parallel",),
            value=plan.pipeline_parallel,
            allowed=_listed(divisors(shape.layers)),
        )


def _across_tensors(plan: RunPlan, shape: TrainedShapeLike) -> Iterator[Fault]:
    found = undivided(shape, plan.tensor_parallel)
    if found:
        what = " and ".join(f"{count} {words}" for words, count in found)
        yield Fault(
            code=Code.JOB_MODEL_DIVISION,
            message=f"the model has {what}, which {plan.tensor_parallel} processes cannot share evenly",
            path=("tensor_parallel",),
            value=plan.tensor_parallel,
            allowed=_listed(possible_tensor_parallel(plan, shape)),
        )


def _world(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    if plan.world % plan.model_parallel == 0:
        return
    degrees = ("tensor_parallel", "pipeline_parallel", "context_parallel")
    product = " x ".join(f"{_DEGREES[name]} {getattr(plan, name)}" for name in degrees if getattr(plan, name) > 1)
    keys = ("nodes", "pipeline_parallel", "context_parallel", "tensor_parallel")
    key = next((each for each in keys if getattr(run, each) is not None), "model")
    yield Fault(
        code=Code.JOB_WORLD_SIZE,
        message=f"{plan.world} processes ({plan.nodes} nodes of {plan.accelerator.processes}) cannot be divided by "
        f"{plan.model_parallel}, {product}",
        path=(key,),
        value=getattr(plan, key, None),
    )


def _shards(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    degree = told(run, "shard_degree")
    if plan.backend is not Backend.FSDP or degree is None or plan.world % degree == 0:
        return
    yield Fault(
        code=Code.JOB_SHARD_DEGREE,
        message=f"{plan.world} processes cannot be shared out in groups of {degree}, each with a whole model",
        path=("shard_degree",),
        value=degree,
        allowed=_listed(divisors(plan.world)),
    )


def _batch(run: RunLike, plan: RunPlan) -> Iterator[Fault]:
    at_once = plan.micro_batch * plan.data_parallel
    if plan.global_batch % at_once == 0:
        return
    below = plan.global_batch // at_once * at_once
    near = [each for each in (below, below + at_once) if each]
    yield Fault(
        code=Code.JOB_BATCH,
        message=f"a global batch of {plan.global_batch} cannot be divided by {at_once}: micro batch "
        f"{plan.micro_batch} x data parallel {plan.data_parallel} ({plan.world} processes / {plan.model_parallel})",
        path=("global_batch",),
        value=plan.global_batch,
        allowed=f"a multiple of {at_once}, e.g. {' or '.join(map(str, near))}",
    )


def _sequence(run: RunLike, plan: RunPlan, *, divided: bool) -> Iterator[Fault]:
    longest = None if run.shape is None else run.shape.max_sequence
    length = plan.sequence_length
    if longest is not None and length > longest:
        message = f"the model was made for sequences of up to {longest} tokens"
    elif not divided:
        return
    elif backends()[plan.backend].sequence_parallel and length % plan.tensor_parallel:
        message = f"a sequence of {length} tokens cannot be shared evenly by tensor parallel {plan.tensor_parallel}"
    elif length % context_parts(plan):
        message = f"a sequence of {length} tokens cannot be cut into {context_parts(plan)} even parts, two for each "
        message += f"process of context parallel {plan.context_parallel}"
    else:
        return
    yield Fault(code=Code.JOB_SEQUENCE, message=message, path=("sequence_length",), value=length)


def _memory(run: RunLike, plan: RunPlan) -> list[Fault]:
    found = estimate(plan, run.shape)
    return [] if found is None or found.fits else [memory_fault(run, plan, found)]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
