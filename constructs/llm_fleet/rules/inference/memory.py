"""How much memory a model takes on the cores of an instance and on its host. Pure arithmetic, in bytes."""

from dataclasses import dataclass

from llm_fleet.catalog.model_shapes import model_memory
from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.rules.inference.protocols import ShapeLike

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
    shape: ShapeLike, instance: NeuronInstance, *, cores: int, batch_size: int, sequence_length: int
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


def kv_heads_of_core(shape: ShapeLike, cores: int) -> int:
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


def weight_bytes(shape: ShapeLike) -> int:
    """Return the bytes of all weights."""
    return shape.parameters * shape.bytes_per_parameter


def host_bytes(shape: ShapeLike, *, compiled: bool) -> float:
    """Return the host memory that loading takes: a model that is not exported is gathered there whole."""
    return model_memory().server_gib * GIB + (0 if compiled else weight_bytes(shape))


def export_bytes(shape: ShapeLike) -> float:
    """Return the host memory that exporting the model takes."""
    facts = model_memory()
    return facts.export_gib * GIB + facts.export_copies * weight_bytes(shape)


def in_gib(count: float) -> str:
    """Write bytes for a reader, e.g. `12.6 GiB`."""
    return f"{count / GIB:.1f} GiB"
