"""Exports a checkpoint for Neuron in the image of its server, and writes a marker with its compile settings.

Runs as `python3 -c` in that image: standard library of Python 3.9 and newer, and optimum-neuron's own command line.
A checkpoint of the Hub is downloaded to a folder first: for a model that is exported by its id, optimum-neuron saves
the code only and leaves the weights on the Hub (`_save_pretrained` in its pretrained_model.py).
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_REPORTED_VARIABLE = "LLM_FLEET_EXPORT"
_NOT_COPIED = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".safetensors.index.json")
"""Files that the export writes itself."""
_FETCHED = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")


def main(reported: Mapping[str, Any]) -> int:
    """Download, export, write the marker; return the exit code."""
    checkpoint, model = reported["checkpoint"], reported["model"]
    if reported["hub_id"]:
        _fetch(reported["hub_id"], reported["revision"], checkpoint)
    command = ["optimum-cli", "export", "neuron", "--model", checkpoint, *reported["arguments"], model]
    print("export-begins:", " ".join(command), flush=True)
    code = _run(command)
    if code:
        print(f"export-failed: optimum-cli ended with {code}; see the lines above", flush=True)
        return 1
    copied = copy_what_is_missing(checkpoint, model)
    print("export-copied:", ", ".join(copied) or "nothing", flush=True)
    note(reported, model)
    return 0


def copy_what_is_missing(checkpoint: str, model: str) -> list[str]:
    """Copy the checkpoint's small files that the export did not write, such as its chat template."""
    copied: list[str] = []
    for name in sorted(os.listdir(checkpoint)):
        source, target = os.path.join(checkpoint, name), os.path.join(model, name)
        if os.path.isfile(source) and not name.endswith(_NOT_COPIED) and not os.path.exists(target):
            shutil.copyfile(source, target)
            copied.append(name)
    return copied


def note(reported: Mapping[str, Any], model: str) -> None:
    """Write the marker: what optimum-neuron reports about its output, not what was requested."""
    with open(os.path.join(model, "neuron_config.json"), encoding="utf-8") as opened:
        made: dict[str, Any] = json.load(opened)
    marker = {
        **reported["note"],
        "target": made.get("target") or reported["note"]["target"],
        "tensor_parallel": made.get("tp_degree"),
        "batch_size": made.get("batch_size"),
        "sequence_length": made.get("sequence_length"),
        "dtype": made.get("torch_dtype"),
        "compiler": made.get("neuronxcc_version"),
        "optimum_neuron": made.get("optimum_neuron_version"),
    }
    with open(os.path.join(model, reported["marker"]), "w", encoding="utf-8") as opened:
        json.dump(marker, opened, indent=2, sort_keys=True)
    print("export-noted:", json.dumps(marker, sort_keys=True), flush=True)


def _run(command: Sequence[str]) -> int:
    return subprocess.run(command, check=False).returncode  # noqa: S603 - words of our own, no shell


def _fetch(hub_id: str, revision: str | None, folder: str) -> None:
    hub = importlib.import_module("huggingface_hub")
    hub.snapshot_download(hub_id, revision=revision, local_dir=folder, allow_patterns=list(_FETCHED))


if __name__ == "__main__":
    sys.exit(main(json.loads(os.environ[_REPORTED_VARIABLE])))
