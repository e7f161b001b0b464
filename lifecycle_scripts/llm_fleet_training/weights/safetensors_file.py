"""Writes weights one after the other, with only one of them in memory.

Format of safetensors: 8 bytes of length, a JSON header, and the numbers. The folder follows Hugging Face: files of a
limited size and an index.
"""

from __future__ import annotations

import json
import struct
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from llm_fleet_training.weights.model_folder import INDEX

SHARD_BYTES = 5 * 1000**3
"""5 GB, as in Hugging Face's tools."""
WORDS = {"float32": ("F32", 4), "float16": ("F16", 2), "bfloat16": ("BF16", 2)}
"""Name of each type in a header, and its bytes."""
Shapes = Dict[str, Tuple[int, ...]]
Tensor = Any


def write_shards(
    folder: Path, shapes: Shapes, dtype: str, read: Callable[[str], Tensor], *, limit: int = SHARD_BYTES
) -> List[str]:
    """Write all weights of `shapes` in order, and read each only when it is written; return the files' names.

    `dtype`: `float32`, `float16` or `bfloat16`, weights are cast to it. `limit`: maximum bytes of a file, unless one
    weight is larger.
    """
    groups = _groups(shapes, WORDS[dtype][1], limit)
    names = [_name(number, len(groups)) for number in range(1, len(groups) + 1)]
    for name, group in zip(names, groups):  # noqa: B905 - of one length
        _write(folder / name, {each: shapes[each] for each in group}, dtype, read)
    if len(groups) > 1:
        where = {weight: name for name, group in zip(names, groups) for weight in group}  # noqa: B905
        total = sum(_bytes(shape, WORDS[dtype][1]) for shape in shapes.values())
        document = {"metadata": {"total_size": total}, "weight_map": where}
        (folder / INDEX).write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return names


def _groups(shapes: Shapes, width: int, limit: int) -> List[List[str]]:
    groups: List[List[str]] = [[]]
    filled = 0
    for name, shape in shapes.items():
        size = _bytes(shape, width)
        if groups[-1] and filled + size > limit:
            groups.append([])
            filled = 0
        groups[-1].append(name)
        filled += size
    return groups


def _write(place: Path, shapes: Shapes, dtype: str, read: Callable[[str], Tensor]) -> None:
    torch: Any = import_module("torch")
    word, width = WORDS[dtype]
    kind = getattr(torch, dtype)
    with open(place, "wb") as opened:
        opened.write(_header(shapes, word, width))
        for name in shapes:
            tensor = read(name).detach().to(device="cpu", dtype=kind).contiguous()
            # As bytes, because numpy has no bfloat16.
            opened.write(tensor.view(-1).view(torch.uint8).numpy().data)


def _header(shapes: Shapes, word: str, width: int) -> bytes:
    header: Dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, shape in shapes.items():
        end = start + _bytes(shape, width)
        header[name] = {"dtype": word, "shape": list(shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _bytes(shape: Sequence[int], width: int) -> int:
    count = width
    for size in shape:
        count *= size
    return count


def _name(number: int, count: int) -> str:
    return "model.safetensors" if count == 1 else f"model-{number:05d}-of-{count:05d}.safetensors"
