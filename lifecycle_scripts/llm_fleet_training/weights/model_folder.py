"""Checks that a folder is a complete model. Needs no torch."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Dict, List, Set, cast

INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model")


def misses(folder: Path, *, weights: bool) -> List[str]:
    """Missing or damaged files; empty when the folder is complete. `weights`: whether weights are required."""
    found: List[str] = []
    for name in sorted(path.name for path in folder.glob("*.json")):
        if not isinstance(_json(folder / name), dict):
            found.append(f"{name} is not a JSON object")
    if not any((folder / name).exists() for name in TOKENIZERS):
        found.append(f"no tokenizer ({' or '.join(TOKENIZERS)})")
    if weights:
        found += _weights(folder)
    return found


def header(place: Path) -> Dict[str, Any]:
    """The header of a safetensors file; ValueError when the file is truncated or has another format."""
    size = place.stat().st_size
    with open(place, "rb") as opened:
        first = opened.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else size
        if length > size - 8:
            raise ValueError("it is truncated in its header, or not a safetensors file")
        read: Any = json.loads(opened.read(length))
    ends = [each["data_offsets"][1] for name, each in read.items() if name != "__metadata__"]
    if 8 + length + max(ends, default=0) != size:
        raise ValueError(f"it has {size} bytes instead of {8 + length + max(ends, default=0)}")
    return read


def _weights(folder: Path) -> List[str]:
    found: List[str] = []
    held: Set[str] = set()
    for place in sorted(folder.glob("*.safetensors")):
        try:
            held |= set(header(place)) - {"__metadata__"}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            found.append(f"{place.name}: {error}")
    index: Any = _json(folder / INDEX) if (folder / INDEX).exists() else None
    named: Dict[str, str] = cast("Dict[str, Any]", index).get("weight_map", {}) if isinstance(index, dict) else {}
    for file in sorted({file for name, file in named.items() if name not in held}):
        found.append(f"{INDEX} lists weights of {file} that are missing")
    return found if held or found else ["no weights"]


def _json(place: Path) -> Any:
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
