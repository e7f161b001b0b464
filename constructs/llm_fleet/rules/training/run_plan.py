"""A run with all its defaults: processes, degrees of parallelism, and the memory of each process.

docs/training/fitting.md has the formulas.
"""

from dataclasses import dataclass, replace
from math import isqrt
from posixpath import dirname, join
from typing import Literal

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of, gpu_memory_mib
from llm_fleet.catalog.hyperpod import Instance, instances
from llm_fleet.catalog.model_server import training_memory
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.training_environments import (
    backends,
    default_backend,
    default_global_batch,
    default_seed,
    default_sequence_length,
    default_warmup_steps,
)
from llm_fleet.rules.inference.fit import GIB
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend, PlacedRun, Precision
from llm_fleet.spec.model_shape import TrainedShape

_ML = "ml."
_MIB = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """The accelerators of a node, as the processes of a run share them."""

    kind: Literal["neuron", "gpu", "none"]
    family: str
    """E.g. `trn1`."""
    processes: int
    """Per node: one for each NeuronCore or GPU; one for a node without either."""
    bytes: int | None
    """Memory of each process; `None` when the catalog does not have it."""
    tensor_parallel: tuple[int, ...] = ()
    """The possible tensor parallel degrees within a node; empty for any divisor."""

    def shared_out(self, processes: int | None) -> "Accelerator":
        """Return the same for `processes` per node; each has one GPU, or else an equal share of the memory."""
        if processes is None or processes == self.processes:
            return self
        whole = None if self.bytes is None else self.bytes * self.processes
        own = self.bytes if self.kind == "gpu" or whole is None else whole // processes
        return replace(self, processes=processes, bytes=own, tensor_parallel=())


def accelerator_of(instance_type: str, backend: Backend | None = None) -> Accelerator | None:
    """Return what an instance type, by EC2's or SageMaker's name, offers `backend`; `None` for an unknown type.

    On CPUs a node has one process, with all of its memory.
    """
    name = instance_type.removeprefix(_ML)
    facts = ec2_facts_of(name) or instances().get(f"{_ML}{name}")
    if facts is None:
        return None
    family = name.split(".")[0]
    if backend is Backend.CPU or facts.accelerator is None:
        return Accelerator(kind="none", family=family, processes=1, bytes=_host_bytes(facts))
    return _neuron(name, family) if facts.accelerator == "neuron" else _gpu(facts, family)


def _host_bytes(facts: Ec2Instance | Instance) -> int | None:
    return None if facts.memory_gib is None else int(facts.memory_gib * GIB)


def _neuron(name: str, family: str) -> Accelerator | None:
    device = neuron_instance(name)
    if device is None:
        return None
    return Accelerator(
        kind="neuron",
        family=family,
        processes=device.cores,
        bytes=device.hbm_gib_per_device * GIB // device.cores_per_device,
        tensor_parallel=device.tensor_parallel,
    )


def _gpu(facts: Ec2Instance | Instance, family: str) -> Accelerator:
    mib = gpu_memory_mib(family)
    return Accelerator(
        kind="gpu", family=family, processes=facts.accelerators, bytes=None if mib is None else mib * _MIB
    )


OF_SMP = {
    "tensor_parallel": "tensor_parallel_degree",
    "context_parallel": "context_parallel_degree",
    "shard_degree": "hybrid_shard_degree",
}
"""Attributes of a run by their keys in a configuration of SMP, which may set them instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """How a run is spread over its processes. Numbers are as requested; the rules check whether they fit together."""

    backend: Backend
    accelerator: Accelerator
    nodes: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    shard_degree: int
    """The number of processes over which weights and gradients are sharded; 1 when the backend does not shard."""
    micro_batch: int
    global_batch: int
    sequence_length: int
    activation_checkpointing: ActivationCheckpointing
    precision: Precision
    warmup_steps: int
    seed: int
    folder: str

    @property
    def world(self) -> int:
        """The number of all processes."""
        return self.nodes * self.accelerator.processes

    @property
    def model_parallel(self) -> int:
        """The number of processes that work on the same sequence."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel

    @property
    def data_parallel(self) -> int:
        """The number of groups of processes with different sequences."""
        return max(1, self.world // self.model_parallel)

    @property
    def accumulation(self) -> int:
        """Micro batches per group and step."""
        return max(1, self.global_batch // (self.micro_batch * self.data_parallel))


def backend_of(run: PlacedRun) -> Backend | None:
    """Return the backend of `run`, by default that of its accelerator; `None` for an unknown instance type."""
    if run.backend is not None:
        return run.backend
    accelerator = accelerator_of(run.partition.instance_type)
    return None if accelerator is None else Backend(default_backend(accelerator.kind))


def degree_of(run: PlacedRun, degree: str) -> int | None:
    """Return the value of `degree` in `run` or its configuration of SMP; `None` for the default."""
    own = getattr(run, degree)
    if own is not None or run.smp is None or backend_of(run) is not Backend.SMP:
        return own
    return getattr(run.smp, OF_SMP[degree]) or None


def plan_run(run: PlacedRun, *, tensor_parallel: int | None = None) -> RunPlan | None:
    """Return `run` with its defaults, `tensor_parallel` among them; `None` where its instance type is unknown.

    The numbers of `run` must be whole and above 0.
    """
    backend = backend_of(run)
    accelerator = None if backend is None else accelerator_of(run.partition.instance_type, backend)
    if backend is None or accelerator is None:
        return None
    accelerator = accelerator.shared_out(run.partition.processes)
    nodes = run.partition.nodes if run.nodes is None else run.nodes
    tensor = degree_of(run, "tensor_parallel") or tensor_parallel or 1
    pipeline, context = run.pipeline_parallel or 1, degree_of(run, "context_parallel") or 1
    world = nodes * accelerator.processes
    groups = max(1, world // (tensor * pipeline * context))
    return RunPlan(
        backend=backend,
        accelerator=accelerator,
        nodes=nodes,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        context_parallel=context,
        shard_degree=degree_of(run, "shard_degree") or _all_of(backend, world, tensor),
        micro_batch=run.micro_batch,
        global_batch=run.global_batch or _near_default(run.micro_batch * groups),
        sequence_length=run.sequence_length or _sequence_length(run.shape),
        activation_checkpointing=run.activation_checkpointing or _checkpointing(backend),
        precision=run.precision or (Precision.FLOAT32 if backend is Backend.CPU else Precision.MIXED),
        warmup_steps=min(default_warmup_steps(), run.steps // 5) if run.warmup_steps is None else run.warmup_steps,
        seed=_seed(run),
        folder=run.folder or default_folder(run),
    )


def default_folder(run: PlacedRun) -> str:
    """Return `<parent of the runtime's folder>/runs/<name>`; every user may create folders in `runs`."""
    return join(dirname(run.partition.training_folder or "/fsx/llm-fleet"), "runs", run.name)


def _seed(run: PlacedRun) -> int:
    of_smp = run.smp.random_seed if run.smp is not None else None
    return next(each for each in (run.seed, of_smp, default_seed()) if each is not None)


def _all_of(backend: Backend, world: int, tensor: int) -> int:
    return max(1, world // tensor) if "shard_degree" in backends()[backend].degrees else 1


def _near_default(smallest: int) -> int:
    """Return the multiple of `smallest` that is nearest to the default global batch, and at least `smallest`."""
    return max(1, round(default_global_batch() / smallest)) * smallest


def _sequence_length(shape: TrainedShape | None) -> int:
    longest = None if shape is None else shape.max_sequence
    return min(default_sequence_length(), longest or default_sequence_length())


def _checkpointing(backend: Backend) -> ActivationCheckpointing:
    return ActivationCheckpointing.NONE if backend is Backend.CPU else ActivationCheckpointing.FULL


def possible_tensor_parallel(plan: RunPlan, shape: TrainedShape | None) -> tuple[int, ...]:
    """Return the tensor parallel degrees that divide nodes and model of `plan`, ascending."""
    return tuple(degree for degree in degrees_of_cores(plan) if shape is None or not undivided(shape, degree))


def degrees_of_cores(plan: RunPlan) -> tuple[int, ...]:
    """Return the tensor parallel degrees that the processes of `plan` allow, independent of the model."""
    if plan.accelerator.kind == "neuron" and plan.accelerator.tensor_parallel:
        return plan.accelerator.tensor_parallel
    within = backends()[plan.backend].tensor_parallel_within_node
    return tuple(divisors(plan.accelerator.processes if within else plan.world))


def undivided(shape: TrainedShape, degree: int) -> list[tuple[str, int]]:
    """Return the parts of the model that `degree` does not divide: name and count.

    There may be fewer key-value heads than processes: then each head is replicated.
    """
    counted = [
        ("attention heads", shape.attention_heads),
        ("feed-forward dimensions (intermediate)", shape.intermediate),
        ("vocabulary tokens", shape.vocabulary),
    ]
    found = [(what, count) for what, count in counted if count % degree]
    kv_heads = shape.kv_heads
    if kv_heads % degree and degree % kv_heads:
        found.append(("key-value heads", kv_heads))
    return found


def divisors(number: int) -> list[int]:
    """Return the divisors of `number`, ascending; none when it is unresolved."""
    if is_unresolved(number):
        return []
    small = [each for each in range(1, isqrt(number) + 1) if number % each == 0]
    large = [number // each for each in reversed(small)]
    return [*small, *(each for each in large if each > small[-1])]


def context_parts(plan: RunPlan) -> int:
    """Return the number of equal parts into which context parallelism splits a sequence.

    Each process gets one part from the front and one from the back, so that all have the same amount of attention.
    """
    return 2 * plan.context_parallel if plan.context_parallel > 1 else 1


_16_BIT = 2
_WIDTHS = {Precision.MIXED: 1, Precision.FLOAT32: 2}
"""Width of activations in units of 16 bits, for which the coefficients are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """The memory of the process of a run that needs most, in bytes."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    """Output of the last layer, of the size of the vocabulary, and its gradient."""
    usable: float
    """The part of `whole` that a run can use."""
    whole: float
    """The memory of the process's accelerator, or on CPUs that of the node."""

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits

    @property
    def fits(self) -> bool:
        """Whether `total` is at most `usable`."""
        return self.total <= self.usable


def estimate(plan: RunPlan, shape: TrainedShape | None) -> MemoryEstimate | None:
    """Return the memory of the process of `plan` that needs most, for a model of `shape`.

    `None` when the model's size or the accelerator's memory is unknown.
    """
    whole = plan.accelerator.bytes
    if shape is None or whole is None:
        return None
    facts = training_memory()
    state = facts.state[plan.precision]
    own = _parameters(plan, shape)
    weights, gradients, optimizer = own * state.weights, own * state.gradients, own * state.optimizer
    if _shards_all(plan):
        # FSDP keeps fp32 weights sharded (part of the optimizer's state), and gathers few layers at a time.
        weights = _gathered(plan, shape) * state.weights
        gradients, optimizer = gradients / plan.shard_degree, optimizer / plan.shard_degree
        if plan.precision is Precision.FLOAT32:
            weights += own * state.weights / plan.shard_degree
    else:
        optimizer /= plan.data_parallel if plan.accelerator.kind == "neuron" else 1
    return MemoryEstimate(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=_activations(plan, shape),
        logits=_logits(plan, shape),
        usable=whole * facts.usable_share[plan.accelerator.kind],
        whole=float(whole),
    )


def _shards_all(plan: RunPlan) -> bool:
    return plan.backend in (Backend.FSDP, Backend.SMP)


def _layer_parameters(shape: TrainedShape) -> float:
    return (shape.parameters - _embeddings(shape)) / shape.layers


def _embeddings(shape: TrainedShape) -> int:
    """Return the weights of embedding and output head, counted once when they are tied."""
    once = shape.vocabulary * shape.hidden
    return min(2 * once, _tied(shape, once))


def _tied(shape: TrainedShape, once: int) -> int:
    """When parameters minus layers (computed from the widths) are about one table, embedding and head are tied."""
    attention = 2 * shape.hidden * shape.head_dim * (shape.attention_heads + shape.kv_heads)
    layers = shape.layers * (attention + 3 * shape.hidden * shape.intermediate)
    return once if shape.parameters - layers < 1.5 * once else 2 * once


def _parameters(plan: RunPlan, shape: TrainedShape) -> float:
    """Return the weights of the largest process; in a pipeline the first or last stage, which has a table as well."""
    tables = _embeddings(shape)
    if plan.pipeline_parallel > 1:
        tables = min(tables, shape.vocabulary * shape.hidden)
    layers = shape.layers / plan.pipeline_parallel
    return (layers * _layer_parameters(shape) + tables) / plan.tensor_parallel


def _gathered(plan: RunPlan, shape: TrainedShape) -> float:
    """Return the weights that are gathered at the same time: some layers, or the largest table."""
    layers = training_memory().gathered_layers * _layer_parameters(shape)
    return max(layers, shape.vocabulary * shape.hidden) / plan.tensor_parallel


def _activations(plan: RunPlan, shape: TrainedShape) -> float:
    facts = training_memory().activation
    tokens = plan.micro_batch * plan.sequence_length / plan.context_parallel
    kept = facts.input * shape.hidden * tokens / _sequence_split(plan)
    layer = _layer_activations(plan, shape, tokens, scores=_keeps_scores(plan))
    # In a pipeline, the first stage has as many micro batches in flight as there are stages: as much as all layers.
    if plan.activation_checkpointing is ActivationCheckpointing.FULL:
        return (shape.layers * kept + layer) * _WIDTHS[plan.precision]
    if plan.activation_checkpointing is ActivationCheckpointing.SELECTIVE:
        once = layer - _layer_activations(plan, shape, tokens, scores=False)
        return (shape.layers * (layer - once) + once) * _WIDTHS[plan.precision]
    return shape.layers * layer * _WIDTHS[plan.precision]


def _layer_activations(plan: RunPlan, shape: TrainedShape, tokens: float, *, scores: bool) -> float:
    facts = training_memory().activation
    wide = (facts.layer * shape.hidden / _sequence_split(plan)) * tokens
    inner = facts.inner_gated * shape.intermediate * tokens / plan.tensor_parallel
    squares = facts.scores * shape.attention_heads * tokens * plan.sequence_length / plan.tensor_parallel
    return wide + inner + (squares if scores else 0)


def _sequence_split(plan: RunPlan) -> int:
    """Return the number of processes that split activations outside of attention and feed-forward."""
    return plan.tensor_parallel if backends()[plan.backend].sequence_parallel else 1


def _keeps_scores(plan: RunPlan) -> bool:
    return backends()[plan.backend].keeps_scores


def _logits(plan: RunPlan, shape: TrainedShape) -> float:
    tokens = plan.micro_batch * plan.sequence_length / plan.context_parallel
    return training_memory().logits_bytes * tokens * shape.vocabulary / plan.tensor_parallel


def planned(run: PlacedRun) -> RunPlan | None:
    """Return `run` with all its defaults; `None` where its instance type is unknown.

    The default tensor parallel degree is the smallest with which the model fits, or else the one with which
    it needs the least memory; 1 when that is unknown or the backend has no tensor parallelism.
    """
    plan = plan_run(run)
    if plan is None or degree_of(run, "tensor_parallel") is not None or not _has_tensor_parallel(plan.backend):
        return plan
    least, best = None, plan
    for degree in possible_tensor_parallel(plan, run.shape):
        tried = plan_run(run, tensor_parallel=degree)
        found = None if tried is None else estimate(tried, run.shape)
        if found is None or tried is None:
            return plan
        if found.fits:
            return tried
        if least is None or found.total < least:
            least, best = found.total, tried
    return best


def _has_tensor_parallel(backend: Backend) -> bool:
    """On CPUs the default is 1: memory is cheap, and tensor parallelism over nodes is slow."""
    return backend is not Backend.CPU and "tensor_parallel" in backends()[backend].degrees
