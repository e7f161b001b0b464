"""How much memory a model needs, whether it fits an instance type, and the smallest type that it fits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.catalog.model_server import model_memory, model_servers
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource

GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreMemory:
    """The memory that a model needs on each of its NeuronCores."""

    cores: int
    """The number of cores."""
    weights: float
    """Bytes of weights per core."""
    cache: float
    """Bytes of KV cache per core."""
    usable: float
    """Bytes that weights and cache can use."""
    whole: float
    """Bytes of memory per core."""

    @property
    def fits(self) -> bool:
        """Whether weights and cache are at most `usable`."""
        return self.weights + self.cache <= self.usable


def core_memory(
    shape: ModelShape, instance: NeuronInstance, *, cores: int, batch_size: int, sequence_length: int
) -> CoreMemory:
    """Return the memory on each of `cores` cores of a model compiled for `batch_size` and `sequence_length`."""
    whole = instance.hbm_gib_per_device * GIB / instance.cores_per_device
    token = 2 * shape.layers * kv_heads_of_core(shape, cores) * shape.head_dim * shape.bytes_per_parameter
    return CoreMemory(
        cores=cores,
        weights=weight_bytes(shape) / cores,
        cache=float(token * batch_size * sequence_length),
        usable=whole * model_memory().usable_share,
        whole=whole,
    )


def kv_heads_of_core(shape: ModelShape, cores: int) -> int:
    """Return the number of key-value heads per core: they are replicated when they cannot be divided.

    Source: optimum-neuron's `get_shardable_head_counts`: one head per core when the cores are a multiple of the heads,
    or else one head for each query head.
    """
    heads, kv_heads = shape.attention_heads, shape.kv_heads
    if kv_heads % cores == 0:
        return kv_heads // cores
    if heads != kv_heads and cores % kv_heads == 0:
        return 1
    return -(-heads // cores)


def weight_bytes(shape: ModelShape) -> int:
    """Return the bytes of all weights."""
    return shape.parameters * shape.bytes_per_parameter


def host_bytes(shape: ModelShape, *, compiled: bool) -> float:
    """Return the host memory for loading: a model that is not exported is loaded there completely."""
    return model_memory().server_gib * GIB + (0 if compiled else weight_bytes(shape))


def export_bytes(shape: ModelShape) -> float:
    """Return the host memory that an export of the model needs."""
    facts = model_memory()
    return facts.export_gib * GIB + facts.export_copies * weight_bytes(shape)


def in_gib(count: float) -> str:
    """Return bytes as text, e.g. `12.6 GiB`."""
    return f"{count / GIB:.1f} GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The model and the settings for which memory is calculated."""

    shape: ModelShape
    compiled: bool
    tensor_parallel: int | None
    batch_size: int
    sequence_length: int

    def on(self, instance: NeuronInstance, cores: int, *, batch_size: int | None = None) -> CoreMemory:
        """Return the memory per core on `cores` cores of `instance`."""
        return core_memory(
            self.shape,
            instance,
            cores=cores,
            batch_size=self.batch_size if batch_size is None else batch_size,
            sequence_length=self.sequence_length,
        )


def check_fit(server: ModelServer, model: Model, instance_type: str) -> list[Problem]:
    """Return a problem when `model`, as `server` loads it, exceeds the memory of cores or host of `instance_type`.

    CDK tokens pass, and values that other rules report: instance types without Neuron devices, an impossible tensor
    parallelism, a batch below 1, a model of unknown size.
    """
    question = _question(server, model)
    instance = None if is_unresolved(instance_type) else neuron_instance(instance_type)
    if question is None or instance is None:
        return []
    cores = question.tensor_parallel or instance.cores
    if not 1 <= cores <= instance.cores:
        return []
    return [*_cores(question, server, instance, cores), *_host(question, server, instance)]


def smallest_fit(server: ModelServer, model: Model) -> tuple[str, int] | None:
    """Return the smallest instance type of the server's families that the model fits, and the number of cores.

    Of two with the same device memory, the one with less host memory is smaller. `None` when it fits none.
    """
    question = _question(server, model)
    return None if question is None else _smallest(question, _families(server))


def _question(server: ModelServer, model: Model) -> _Question | None:
    shape = model.size
    if shape is None:
        return None
    numbers = [shape.parameters, shape.layers, shape.attention_heads, shape.kv_heads, shape.head_dim]
    numbers += [shape.bytes_per_parameter, server.batch_size, server.sequence_length]
    numbers += [] if server.tensor_parallel is None else [server.tensor_parallel]
    if any(is_unresolved(number) or type(number) is not int or number < 1 for number in numbers):
        return None
    return _Question(
        shape=shape,
        compiled=model.is_compiled,
        tensor_parallel=server.tensor_parallel,
        batch_size=server.batch_size,
        sequence_length=server.sequence_length,
    )


def _cores(question: _Question, server: ModelServer, instance: NeuronInstance, cores: int) -> Iterator[Problem]:
    memory = question.on(instance, cores)
    if memory.fits:
        return
    yield Problem(
        code=Code.MODEL_MEMORY,
        message=(
            f"the model does not fit {instance.name}: each of {cores} core{'s' if cores > 1 else ''} needs "
            f"{in_gib(memory.weights)} for weights and {in_gib(memory.cache)} for the KV cache (batch "
            f"{question.batch_size}, sequence {question.sequence_length}), "
            f"{in_gib(memory.weights + memory.cache)} in total, and has {in_gib(memory.usable)} usable of "
            f"{in_gib(memory.whole)}"
        ),
        remedy=" or ".join(_remedies(question, server, instance, cores)),
        path=("instance_type",),
        value=instance.name,
    )


def _remedies(question: _Question, server: ModelServer, instance: NeuronInstance, cores: int) -> Iterator[str]:
    larger = _larger(question, server, instance)
    yield larger or f"use another server or a smaller model: it fits no instance type of {', '.join(_families(server))}"
    batch = _largest_batch(question, instance, cores)
    if batch:
        yield f"write batch_size={batch} for this instance type"


def _larger(question: _Question, server: ModelServer, instance: NeuronInstance) -> str | None:
    """Return the remedy with the smallest type that it fits, and that of the same family if it differs."""
    smallest = _smallest(question, _families(server))
    if smallest is None:
        return None
    name, over = smallest
    text = f"use {name}, the smallest that it fits, with tensor_parallel={over}"
    alike = _smallest(question, (instance.family,)) if instance.family in _families(server) else None
    return f"{text} ({alike[0]} with {alike[1]} of {instance.family})" if alike and alike[0] != name else text


def _largest_batch(question: _Question, instance: NeuronInstance, cores: int) -> int:
    """Return the largest batch size that fits; 0 when not even 1 does.

    It is below the requested one, which did not fit.
    """
    one = question.on(instance, cores, batch_size=1)
    room = one.usable - one.weights
    return int(room // one.cache) if room > 0 else 0


def _host(question: _Question, server: ModelServer, instance: NeuronInstance) -> Iterator[Problem]:
    if _host_fits(question, instance):
        return
    need = host_bytes(question.shape, compiled=question.compiled)
    weights = "" if question.compiled else f"{in_gib(weight_bytes(question.shape))} for the whole checkpoint and "
    bigger = _larger(question, server, instance) or "use a smaller model: no instance type of the server can load it"
    export = "" if question.compiled else ", or export the model for Neuron first, so that it is loaded shard by shard"
    yield Problem(
        code=Code.MODEL_HOST_MEMORY,
        message=(
            f"loading the model needs {in_gib(need)} of host memory: {weights}{model_memory().server_gib:g} GiB for "
            f"the server. A task on {instance.name} has {in_gib(_host_bytes_of(instance))} of its "
            f"{instance.host_memory_gib:g} GiB"
        ),
        remedy=bigger + export,
        path=("instance_type",),
        value=instance.name,
    )


def _host_fits(question: _Question, instance: NeuronInstance) -> bool:
    return host_bytes(question.shape, compiled=question.compiled) <= _host_bytes_of(instance)


def _host_bytes_of(instance: NeuronInstance) -> int:
    return task_memory_mib(instance) * 1024**2


def _smallest(question: _Question, families: tuple[str, ...]) -> tuple[str, int] | None:
    names = (neuron_instance(name) for name in neuron_instance_names())
    candidates = [each for each in names if each is not None and each.family in families]
    candidates.sort(key=lambda each: (each.hbm_gib, each.host_memory_gib, families.index(each.family)))
    for instance in candidates:
        over = _cores_that_fit(question, instance)
        if over is not None and _host_fits(question, instance):
            return instance.name, over
    return None


def _cores_that_fit(question: _Question, instance: NeuronInstance) -> int | None:
    """Return the number of cores on which it fits: as requested if possible, or else the largest."""
    allowed = [cores for cores in instance.tensor_parallel if cores <= instance.cores]
    requested = [cores for cores in allowed if cores == question.tensor_parallel]
    return next((cores for cores in [*requested, *reversed(allowed)] if question.on(instance, cores).fits), None)


def _families(server: ModelServer) -> tuple[str, ...]:
    return model_servers()[server.kind.value].families


def cache_gib(model: Model) -> int | None:
    """Return the size of the cache of `model` on a host's disk: as set, or the size of the model, or 0 when that is
    unknown; `None` for a model that is not in S3.
    """
    if model.source is not ModelSource.S3 or model.cache_gib is not None:
        return model.cache_gib if model.source is ModelSource.S3 else None
    return 0 if model.size is None else math.ceil(weight_bytes(model.size) / GIB * model_memory().cache_margin)
