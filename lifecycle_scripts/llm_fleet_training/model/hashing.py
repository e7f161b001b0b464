"""A digest over a model's parameters, to compare runs, checkpoints and converted weights."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any, Callable, Iterable


class ParametersHash:
    """SHA-256 over name, shape and float32 bytes (little-endian) of each unsharded parameter.

    Add them in `sorted` order of name, one at a time.
    """

    def __init__(self) -> None:
        self._found = hashlib.sha256()
        self._last = ""

    def add(self, name: str, whole: Any) -> None:
        """Add an unsharded tensor, on any device and of any type."""
        if name <= self._last:
            raise ValueError(f"{name} after {self._last}: parameters are added in order of name")
        self._last = name
        torch: Any = import_module("torch")
        tensor = whole.detach().to("cpu", torch.float32).contiguous()
        self._found.update(f"{name} {tuple(tensor.shape)}\n".encode())
        self._found.update(memoryview(tensor.numpy()).cast("B"))

    def hexdigest(self) -> str:
        """The digest of the tensors added."""
        return self._found.hexdigest()


def parameters_sha256(names: Iterable[str], whole: Callable[[str], Any]) -> str:
    """Digest of the parameters named; `whole(name)` returns one unsharded tensor at a time."""
    found = ParametersHash()
    for name in sorted(names):
        found.add(name, whole(name))
    return found.hexdigest()
