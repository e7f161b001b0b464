"""Converts pickle weights of older repositories to safetensors, with a reader that runs no code."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Dict, Sequence

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights.safetensors_file import WORDS, write_shards


def convert_pickles(folder: Path, names: Sequence[str]) -> None:
    """Replace the files by safetensors files in the same folder; LFJ34 for files with other objects than weights.

    The files are mapped and not read into memory, unless they are older than PyTorch 1.6.
    """
    if not names:
        return
    held: Dict[str, Any] = {}
    for name in sorted(names):
        for weight, value in _read(folder / name).items():
            if not hasattr(value, "dtype"):
                fail(Code.MODEL_FORMAT, f"{folder / name}: {weight!r} is not a weight")
            held[weight] = value
    kinds = sorted({str(value.dtype).split(".")[-1] for value in held.values() if value.is_floating_point()})
    if len(kinds) != 1 or kinds[0] not in WORDS:
        fail(
            Code.MODEL_FORMAT, f"weights of {folder} have type {', '.join(kinds)}; allowed is one of {', '.join(WORDS)}"
        )
    # Position tables, which older releases saved with the weights.
    floats = {name: value for name, value in held.items() if value.is_floating_point() and "rotary" not in name}
    write_shards(folder, {name: tuple(value.shape) for name, value in floats.items()}, kinds[0], floats.__getitem__)
    for name in names:
        os.unlink(folder / name)
    for index in folder.glob("*.bin.index.json"):
        index.unlink()


def _read(place: Path) -> Dict[str, Any]:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        fail(Code.PYTHON_PACKAGE, f"torch, which reads {place.name}, cannot be imported: {error}")
    try:
        return dict(torch.load(place, map_location="cpu", weights_only=True, mmap=True))
    except Exception as error:
        fail(Code.MODEL_FORMAT, f"{place} is not a file of weights: {str(error).splitlines()[0]}")
