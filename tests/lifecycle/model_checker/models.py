"""Folders of models as optimum-neuron 0.3 and 0.4 write them, for tests."""

import json
from pathlib import Path
from typing import Any

from llm_fleet.lifecycle.model_checker.check import Folder

REQUESTED: dict[str, Any] = {
    "compiled": True,
    "target": "inf2",
    "tensor_parallel": 2,
    "batch_size": 4,
    "sequence_length": 4096,
    "compiler": "2.19.8089.0",
    "layout": "optimum",
    "dtype": "bf16",
    "shards_needed": True,
}
OPTIMUM: dict[str, Any] = {
    "_serialized_key": "NxDNeuronConfig",
    "optimum_neuron_version": "0.3.0",
    "neuronxcc_version": "2.19.8089.0+8ab9f450",
    "tp_degree": 2,
    "batch_size": 4,
    "sequence_length": 4096,
    "torch_dtype": "bfloat16",
}
MARKER: dict[str, Any] = {
    "format": 1,
    "target": "inf2",
    "tensor_parallel": 2,
    "batch_size": 4,
    "sequence_length": 4096,
    "compiler": "2.19.8089.0+8ab9f450",
}


def files_of(
    *,
    compiled: bool = True,
    marker: dict[str, Any] | None = None,
    neuron_config: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
) -> dict[str, bytes]:
    """Return the files of a model by their paths."""
    found = {"config.json": json.dumps({"model_type": "llama", **(config or {})}).encode(), "tokenizer.json": b"{}"}
    if compiled:
        found |= {"model.pt": b"code", "checkpoint/weights/tp0_sharded_checkpoint.safetensors": b"weights"}
    else:
        found |= {"model-00001-of-00001.safetensors": b"weights"}
    if neuron_config is not None:
        found["neuron_config.json"] = json.dumps(neuron_config).encode()
    if marker is not None:
        found["llm-fleet-model.json"] = json.dumps(marker).encode()
    return found


def put(
    folder: Path,
    *,
    compiled: bool = True,
    marker: dict[str, Any] | None = None,
    neuron_config: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
) -> Folder:
    """Write a model into `folder`."""
    for name, data in files_of(compiled=compiled, marker=marker, neuron_config=neuron_config, config=config).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Folder(str(folder))
