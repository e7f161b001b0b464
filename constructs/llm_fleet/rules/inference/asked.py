"""What a server asks of its model, in the words that the check of the model reads."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.rules.inference.memory import host_bytes
from llm_fleet.rules.inference.protocols import ModelLike, ServerLike, ShapeLike
from llm_fleet.rules.inference.server import cores_of
from llm_fleet.rules.inference.terms import ServerKind

_OPTIMUM = (ServerKind.TGI, ServerKind.HUGGING_FACE_VLLM)
"""Servers that load what optimum-neuron exports."""
_CAST_TYPE = "bf16"
"""What models are published in."""


def asked_of_model(server: ServerLike, model: ModelLike, instance: NeuronInstance) -> Mapping[str, Any]:
    """Return what `server` on `instance` asks of `model`, as `findings` of the model's check takes it.

    The compiler of another image than the catalog's is not known, and so not compared.
    """
    return {
        "compiled": model.compiled,
        "target": instance.target,
        "tensor_parallel": cores_of(server, instance),
        "batch_size": server.batch_size,
        "sequence_length": server.sequence_length,
        "compiler": model_servers()[server.kind].compiler if server.image is None else None,
        "layout": "optimum" if server.kind in _OPTIMUM else "other",
        "dtype": cast_type(server) if server.kind is ServerKind.TGI else None,
        "shards_needed": _shards_needed(model.shape, instance),
    }


def cast_type(server: ServerLike) -> str:
    """Return what TGI casts weights to: `bf16` unless it is told otherwise."""
    return str(server.settings.get("cast_type") or _CAST_TYPE)


def _shards_needed(shape: ShapeLike | None, instance: NeuronInstance) -> bool:
    """Return whether the whole checkpoint, which optimum-neuron gathers where there are no shards, is too much."""
    return shape is not None and host_bytes(shape, compiled=False) > task_memory_mib(instance) * 1024**2
