"""Checks that a model exists and is compiled for its server. Standard library of Python 3.9 and newer only.

The same file runs in Lambda, before a service is made; as the first container of each task, before its server starts;
and at the end of an export, before anything is published. In containers it runs as `python3 -c`, configured by
environment variables.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

MARKER = "llm-fleet-model.json"
"""Written by llm-fleet's export, last of all."""
OPTIMUM = "neuron_config.json"
"""Written by optimum-neuron 0.2 and newer, and by NxD Inference."""
CONFIG = "config.json"
COMPILED_FILE = "model.pt"
_SHARDS = "checkpoint/weights/tp"
"""The prefix of the paths of sharded weights, one shard per core."""
_WEIGHTS = (".safetensors", ".bin")
_TARGETS = {"inf2": "inf2", "trn1": "inf2", "trn1n": "inf2", "trn2": "trn2"}
"""Code for NeuronCore-v2 is the same: optimum-neuron calls it trn1, llm-fleet inf2."""
_SIZES = {"tensor_parallel": "tensor parallelism", "batch_size": "batches of", "sequence_length": "sequences of"}
_TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""Servers take the short name, optimum-neuron writes the long one."""
_REQUESTED_VARIABLE = "LLM_FLEET_MODEL_REQUESTED"
_PATH_VARIABLE = "LLM_FLEET_MODEL_PATH"


class Files:
    """A model's files, in a folder or in S3."""

    place: str
    """Their location, for messages."""

    def names(self) -> list[str]:
        """Return the paths of all files."""
        raise NotImplementedError

    def read(self, name: str) -> bytes:
        """Return the bytes of a file in `names`."""
        raise NotImplementedError


class Folder(Files):
    """A model's files in a folder."""

    def __init__(self, path: str) -> None:
        """Read files of `path`."""
        self.place = path

    def names(self) -> list[str]:
        """Return the paths of all files, from the folder."""
        found: list[str] = []
        for root, _, files in os.walk(self.place):
            found += [os.path.relpath(os.path.join(root, name), self.place) for name in files]
        return found

    def read(self, name: str) -> bytes:
        """Return the bytes of a file in `names`."""
        with open(os.path.join(self.place, name), "rb") as opened:
            return opened.read()


def findings(requested: Mapping[str, Any], files: Files) -> list[str]:
    """Return the problems of the model, each as one line that begins with a fixed word.

    `requested`: `compiled`, `target`, `tensor_parallel`, `batch_size`, `sequence_length`, `compiler` and `dtype`
    (`None` if unknown or not required), `layout` (`optimum`, or `other` for servers with their own format of
    compiled models), `shards_needed` (whether the whole checkpoint is too large for the host's memory).
    """
    names = set(files.names())
    if not names:
        return [f"model-missing: {files.place} is empty or does not exist; check the location and its permissions"]
    try:
        reported = _reported(names, files)
    except ValueError as error:
        return [f"model-unreadable: {files.place} has a file that cannot be read: {error}; upload the model again"]
    found = list(_incomplete(requested, names, reported is not None, files.place))
    if requested["compiled"] and reported is not None:
        found += _mismatches(requested, reported, files.place)
    return found


def _incomplete(requested: Mapping[str, Any], names: set[str], reported: bool, place: str) -> Iterator[str]:
    if CONFIG not in names:
        yield f"model-missing: {place} has no {CONFIG}; set the folder that contains the model's files"
    weights = any(name.endswith(_WEIGHTS) for name in names)
    if not weights:
        yield (
            f"model-without-weights: {place} has no weights: an export by the model's id on the Hub does not write them"
            f"; export it from a folder"
        )
    if not requested["compiled"] or requested["layout"] != "optimum":
        return
    if not (reported and COMPILED_FILE in names):
        lacking = COMPILED_FILE if reported else OPTIMUM
        yield (
            f"model-not-compiled: {place} has no {lacking}, so it was not exported for Neuron in the form that the "
            f"server loads; export it, or set that it is not compiled"
        )
    elif weights and requested["shards_needed"] and not any(name.startswith(_SHARDS) for name in names):
        yield (
            f"model-not-sharded: {place} has unsharded weights, and the host has too little memory to shard them "
            f"while loading; export it from a folder, which writes shards, or choose an instance type with more memory"
        )


def _reported(names: set[str], files: Files) -> dict[str, Any] | None:
    """Return the model's compile settings by the names of the requested settings; `None` if it was not compiled."""
    if MARKER in names:
        return _object(files, MARKER)
    if OPTIMUM in names:
        return _of_optimum(_object(files, OPTIMUM))
    older = _object(files, CONFIG).get("neuron") if CONFIG in names else None
    if not isinstance(older, dict):
        return None
    sizes = cast("dict[str, Any]", older)
    return {
        "tensor_parallel": sizes.get("num_cores"),
        "batch_size": sizes.get("batch_size"),
        "sequence_length": sizes.get("sequence_length"),
        "compiler": sizes.get("compiler_version"),
        "dtype": sizes.get("auto_cast_type"),
    }


def _of_optimum(document: dict[str, Any]) -> dict[str, Any]:
    nested = document.get("neuron_config")
    sizes = cast("dict[str, Any]", nested) if isinstance(nested, dict) else document
    return {
        "target": sizes.get("target"),
        "tensor_parallel": sizes.get("tp_degree"),
        "batch_size": sizes.get("batch_size"),
        "sequence_length": sizes.get("sequence_length", sizes.get("seq_len")),
        "compiler": document.get("neuronxcc_version"),
        "dtype": sizes.get("torch_dtype"),
    }


def _mismatches(requested: Mapping[str, Any], reported: Mapping[str, Any], place: str) -> Iterator[str]:
    target = reported.get("target")
    if target and _TARGETS.get(target, target) != _TARGETS.get(requested["target"], requested["target"]):
        yield (
            f"model-mismatch: {place} was compiled for {target}, but the service runs {requested['target']}; serve it "
            f"there, or export it again"
        )
    for name, title in _SIZES.items():
        made = reported.get(name)
        if made is not None and made != requested[name]:
            yield (
                f"model-mismatch: {place} was compiled for {title} {made}, and the server requires {requested[name]}; "
                f"write {name} {made}, or export it again"
            )
    made, needed = _type(reported.get("dtype")), _type(requested["dtype"])
    if made and needed and made != needed:
        yield (
            f"model-mismatch: {place} was compiled in {made}, and the server requires {needed}; set the server to "
            f"cast to {made}, or export it again"
        )
    made, needed = _release(reported.get("compiler")), _release(requested["compiler"])
    if made and needed and made != needed:
        yield (
            f"model-mismatch: {place} was compiled by neuronx-cc {made}, and the server's image has {needed}; "
            f"export it again with the server's image"
        )


def _type(name: Any) -> str | None:
    """Return the long name of a data type."""
    return _TYPES.get(str(name), str(name)) if name else None


def _release(version: Any) -> str | None:
    """Return a version without the build that `+` begins."""
    return str(version).split("+")[0] if version else None


def _object(files: Files, name: str) -> dict[str, Any]:
    try:
        document: object = json.loads(files.read(name).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{name}: it is not a JSON object")
    return cast("dict[str, Any]", document)


def main(environment: Mapping[str, str]) -> int:
    """Check the folder that the environment names, print the result, and return the exit code."""
    folder = Folder(environment[_PATH_VARIABLE])
    found = findings(json.loads(environment[_REQUESTED_VARIABLE]), folder)
    for line in found or [f"model-ok: {folder.place} matches the server's settings"]:
        print(line, flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
