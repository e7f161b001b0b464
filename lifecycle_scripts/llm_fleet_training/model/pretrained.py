"""Reads weights from a folder of Hugging Face safetensors by name and slice: each process reads only its share."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.sharding import dimension, shapes, span

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"


class Pretrained:
    """`model.safetensors`, or several files with their index. LFJ16 when weights are missing or of other shapes."""

    def __init__(self, folder: Path, config: ModelConfig) -> None:
        """Checks names and shapes of all weights, and reads no weight."""
        self.folder = folder
        self.config = config
        self._open: Dict[str, Any] = {}
        self._files = self._index()
        self._compare()

    def slice(self, name: str, degree: int, rank: int) -> Any:
        """A tensor-parallel rank's slice, as it is stored."""
        stored = self._stored(name)
        along = dimension(name)
        if along is None or degree == 1:
            return stored[:]
        start, length = span(name, self.config, degree, rank)
        return stored[start : start + length] if along == 0 else stored[:, start : start + length]

    def _stored(self, name: str) -> Any:
        from safetensors import safe_open

        file = self._files[name]
        if file not in self._open:
            try:
                self._open[file] = safe_open(str(self.folder / file), framework="pt")
            except Exception as error:  # safetensors raises its own exceptions, and OSError.
                fail(Code.WEIGHTS, f"{self.folder / file} cannot be read: {error}")
        return self._open[file].get_slice(name)

    def _index(self) -> Dict[str, str]:
        try:
            if (self.folder / INDEX).exists():
                return dict(json.loads((self.folder / INDEX).read_text())["weight_map"])
            from safetensors import safe_open

            with safe_open(str(self.folder / SINGLE), framework="pt") as file:
                return {name: SINGLE for name in file.keys()}  # noqa: SIM118, it is not a dict
        except FileNotFoundError:
            fail(Code.WEIGHTS, f"{self.folder} has neither {SINGLE} nor {INDEX}")
        except Exception as error:
            fail(Code.WEIGHTS, f"the weights in {self.folder} cannot be read: {error}")

    def _compare(self) -> None:
        wanted = shapes(self.config)
        missing = [name for name in wanted if name not in self._files]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            fail(Code.WEIGHTS, f"the weights in {self.folder} have no {missing[0]}{more}")
        for name, shape in wanted.items():
            stored = tuple(self._stored(name).get_shape())
            if stored != shape:
                fail(Code.WEIGHTS, f"{name} in {self.folder} has shape {stored}, expected {shape}")
