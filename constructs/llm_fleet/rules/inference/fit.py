"""How much memory a model takes, whether it fits an instance, with the numbers, and the smallest size that it fits."""

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
    """What a model takes of each of the cores that it is spread over."""

    cores: int
    """Over how many."""
    weights: float
    """Bytes of weights a core."""
    cache: float
    """Bytes of keys and values a core."""
    usable: float
    """Bytes that weights and cache may fill."""
    whole: float
    """Bytes of the core's memory."""

    @property
    def fits(self) -> bool:
        """Whether weights and cache find room."""
        return self.weights + self.cache <= self.usable


def core_memory(
    shape: ModelShape, instance: NeuronInstance, *, cores: int, batch_size: int, sequence_length: int
) -> CoreMemory:
    """Return what the model takes of each of `cores` cores, compiled for `batch_size` and `sequence_length`."""
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
    """Return how many heads of keys and values a core holds: they are copied where they cannot be shared out.

    Source: optimum-neuron's `get_shardable_head_counts`: one head a core where the cores are a multiple of the heads,
    else a head for each head of queries.
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
    """Return the host memory that loading takes: a model that is not exported is gathered there whole."""
    return model_memory().server_gib * GIB + (0 if compiled else weight_bytes(shape))


def export_bytes(shape: ModelShape) -> float:
    """Return the host memory that exporting the model takes."""
    facts = model_memory()
    return facts.export_gib * GIB + facts.export_copies * weight_bytes(shape)


def in_gib(count: float) -> str:
    """Write bytes for a reader, e.g. `12.6 GiB`."""
    return f"{count / GIB:.1f} GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is to be fitted."""

    shape: ModelShape
    compiled: bool
    tensor_parallel: int | None
    batch_size: int
    sequence_length: int

    def on(self, instance: NeuronInstance, cores: int, *, batch_size: int | None = None) -> CoreMemory:
        """Return what it takes of `cores` cores of `instance`."""
        return core_memory(
            self.shape,
            instance,
            cores=cores,
            batch_size=self.batch_size if batch_size is None else batch_size,
            sequence_length=self.sequence_length,
        )


def check_fit(server: ModelServer, model: Model, instance_type: str) -> list[Problem]:
    """Return a problem when `model` fits neither cores nor host of `instance_type`, as `server` would hold it.

    Passes over what is not known yet, and over what other rules refuse: instances without Neuron devices, tensor
    parallelism that the instance cannot have, a batch below 1, a model of unknown size.
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
    """Return the smallest instance type of the server's families that the model fits, and over how many cores.

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
            f"the model does not fit into {instance.name}: spread over {cores} core{'s' if cores > 1 else ''}, each "
            f"takes {in_gib(memory.weights)} of weights and {in_gib(memory.cache)} of keys and values (batch "
            f"{question.batch_size}, sequence {question.sequence_length}), "
            f"{in_gib(memory.weights + memory.cache)} together, and has {in_gib(memory.usable)} for them of its "
            f"{in_gib(memory.whole)}"
        ),
        remedy=" or ".join(_remedies(question, server, instance, cores)),
        path=("instance_type",),
        value=instance.name,
    )


def _remedies(question: _Question, server: ModelServer, instance: NeuronInstance, cores: int) -> Iterator[str]:
    larger = _larger(question, server, instance)
    yield larger or f"take another server or a smaller model: it fits no instance of {', '.join(_families(server))}"
    batch = _largest_batch(question, instance, cores)
    if batch:
        yield f"batch_size={batch} on this one"


def _larger(question: _Question, server: ModelServer, instance: NeuronInstance) -> str | None:
    """Return the remedy that names the smallest size that it fits, and that of the same family where it differs."""
    smallest = _smallest(question, _families(server))
    if smallest is None:
        return None
    name, over = smallest
    text = f"take {name}, the smallest that it fits, with tensor_parallel={over}"
    alike = _smallest(question, (instance.family,)) if instance.family in _families(server) else None
    return f"{text} ({alike[0]} with {alike[1]} of {instance.family})" if alike and alike[0] != name else text


def _largest_batch(question: _Question, instance: NeuronInstance, cores: int) -> int:
    """Return the largest batch that fits; 0 when not even a batch of one does.

    It is below the one that was asked for: that one did not fit, so it takes more than the room that is divided here.
    """
    one = question.on(instance, cores, batch_size=1)
    room = one.usable - one.weights
    return int(room // one.cache) if room > 0 else 0


def _host(question: _Question, server: ModelServer, instance: NeuronInstance) -> Iterator[Problem]:
    if _host_fits(question, instance):
        return
    need = host_bytes(question.shape, compiled=question.compiled)
    weights = "" if question.compiled else f"the whole checkpoint, {in_gib(weight_bytes(question.shape))}, and "
    bigger = _larger(question, server, instance) or "take a smaller model: no instance of the server can load it"
    export = "" if question.compiled else ", or export the model for Neuron first: it is then loaded shard by shard"
    yield Problem(
        code=Code.MODEL_HOST_MEMORY,
        message=(
            f"{instance.name} has {in_gib(_host_bytes_of(instance))} of host memory for a task, of its "
            f"{instance.host_memory_gib:g} GiB, and loading the model takes "
            f"{in_gib(need)}: {weights}{model_memory().server_gib:g} GiB for the server"
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
    """Return over how many cores it fits: as asked where that does, else as many as there can be."""
    allowed = [cores for cores in instance.tensor_parallel if cores <= instance.cores]
    requested = [cores for cores in allowed if cores == question.tensor_parallel]
    return next((cores for cores in [*requested, *reversed(allowed)] if question.on(instance, cores).fits), None)


def _families(server: ModelServer) -> tuple[str, ...]:
    return model_servers()[server.kind.value].families


def cache_gib(model: Model) -> int | None:
    """Return how much of `model` a host keeps on its disk: as told, else all of it, which is 0 where its size is not
    known; `None` of one that is not in S3.
    """
    if model.source is not ModelSource.S3 or model.cache_gib is not None:
        return model.cache_gib if model.source is ModelSource.S3 else None
    return 0 if model.size is None else math.ceil(weight_bytes(model.size) / GIB * model_memory().cache_margin)
