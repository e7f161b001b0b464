"""Reads checkpoints of tensor-parallel slices, which the backends cpu and neuron write."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any, Dict, List

from safetensors import safe_open

from llm_fleet_training.checkpoints.checkpoints import Complete
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.sharding import join, shapes, span


class SlicesReader:
    """Maps one file per rank, and joins the slices of a weight when it is read."""

    def __init__(self, found: Complete, config: ModelConfig) -> None:
        """LFJ37 when a rank's file is not in the record."""
        self._found = found
        self._config = config
        self._degree = int(found.record.degrees.get("tensor", 1))
        for name in self.files():
            if name not in found.record.files:
                fail(
                    Code.CONVERSION, f"{found.folder} has no {name}, but its record has tensor parallel {self._degree}"
                )
        self._open: Dict[str, Any] = {}

    def files(self) -> List[str]:
        """One file per rank."""
        return [f"model-tp{rank:02}-of-{self._degree:02}.safetensors" for rank in range(self._degree)]

    def weight(self, name: str) -> Any:
        """Uses a slice that several ranks hold only once."""
        slices = [self._slice(file, name, rank) for rank, file in enumerate(self.files())]
        return join(name, slices, self._config)

    def _slice(self, file: str, name: str, rank: int) -> Any:
        if file not in self._open:
            self._open[file] = safe_open(str(self._found.folder / file), framework="pt")
        if name not in self._open[file].keys():  # noqa: SIM118, it is not a dict
            fail(Code.CONVERSION, f"{self._found.folder / file} has no {name}")
        slice_ = self._open[file].get_tensor(name)
        wanted = _shape(name, self._config, self._degree, rank)
        if tuple(slice_.shape) != wanted:
            fail(Code.CONVERSION, f"{name} in {file} has shape {tuple(slice_.shape)}, expected {wanted}")
        return slice_


def _shape(name: str, config: ModelConfig, degree: int, rank: int) -> "tuple[int, ...]":
    from llm_fleet_training.model.sharding import dimension

    whole = list(shapes(config)[name])
    along = dimension(name)
    if along is not None:
        whole[along] = span(name, config, degree, rank)[1]
    return tuple(whole)


def make(found: Complete, config: ModelConfig) -> SlicesReader:
    """The function that `open_checkpoint` calls."""
    return SlicesReader(found, config)
