"""Writes a safetensors file sequentially, so that it is digested while it is written."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
from typing import IO, Any, Dict, Mapping, Optional

import torch

TYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


def write(stream: IO[bytes], tensors: Mapping[str, Any], metadata: Optional[Dict[str, str]] = None) -> None:
    """Header (8 bytes of length, JSON, padded to 8), then each tensor's little-endian bytes in order of name.

    `metadata` is written as the file's metadata. Tensors of accelerators are copied to the host one at a time.
    """
    header: Dict[str, Any] = {"__metadata__": {"format": "pt", **(metadata or {})}}
    place = 0
    for name in sorted(tensors):
        tensor = tensors[name]
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [place, place + size],
        }
        place += size
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-len(words) % 8)
    stream.write(len(words).to_bytes(8, "little") + words)
    for name in sorted(tensors):
        flat = tensors[name].detach().to("cpu").contiguous().reshape(-1)
        if flat.numel():
            stream.write(memoryview(flat.view(torch.uint8).numpy()).cast("B"))
