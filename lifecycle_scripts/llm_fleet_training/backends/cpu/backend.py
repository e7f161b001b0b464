"""The cpu backend: float32, one thread, every sum in the order of ranks."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence

import torch
import torch.distributed as dist
from torch import nn

from llm_fleet_training import degrees
from llm_fleet_training.backends import processes
from llm_fleet_training.backends.cpu.adamw import AdamW
from llm_fleet_training.backends.cpu.layers import SlicedLayers
from llm_fleet_training.backends.cpu.ordered import Group
from llm_fleet_training.checkpoints import safetensors_stream
from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.model import hashing
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.initial import initial
from llm_fleet_training.model.llama import Llama
from llm_fleet_training.model.pretrained import Pretrained
from llm_fleet_training.model.sharding import copies, cut, join, pieces, shapes
from llm_fleet_training.settings import Settings


class CpuBackend:
    """See `Backend`. Only the first replica writes: all have the same numbers."""

    name = "cpu"
    layout = "tensor-slices"

    def __init__(self, settings: Settings, config: ModelConfig) -> None:
        """The backend is not started."""
        self.settings = settings
        self.config = config
        self.rank, self.world = processes.place()
        self.degrees = degrees.spread(world=self.world, tensor=settings.tensor_parallel)

    @property
    def is_main(self) -> bool:
        """Rank 0."""
        return self.rank == 0

    @property
    def data_rank(self) -> int:
        """The ranks of a tensor-parallel group are consecutive."""
        return self.rank // self.degrees.tensor

    def start(self) -> None:
        """Start gloo and make torch deterministic."""
        torch.set_num_threads(1)
        torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms imports the compiler.

        torch.manual_seed(self.settings.seed)
        processes.join("gloo")
        tensor, data = self.degrees.tensor, self.degrees.data
        self.tensor_group = self._group([list(range(d * tensor, (d + 1) * tensor)) for d in range(data)])
        self.data_group = self._group([list(range(t, self.world, tensor)) for t in range(tensor)])
        # Ranks with the same head of keys and values add up the gradients of their queries.
        same = copies("model.layers.0.self_attn.k_proj.weight", self.config, tensor)
        self.keys_group = self._group([list(range(s, s + same)) for s in range(0, self.world, same)])

    def _group(self, rows: List[List[int]]) -> Group:
        """This process's group; every process must make all groups, in the same order."""
        own = next(row for row in rows if self.rank in row)
        handles = [dist.new_group(row) if len(row) > 1 else None for row in rows]
        return Group(handle=handles[rows.index(own)], size=len(own), rank=own.index(self.rank))

    def build(self) -> None:
        """Each weight is drawn whole and then cut: the same model at every degree."""
        self.model = Llama(
            self.config, SlicedLayers(self.tensor_group), recompute=self.settings.activation_checkpointing
        )
        self.parameters: Dict[str, nn.Parameter] = dict(self.model.named_parameters())
        for name in shapes(self.config):
            self._put(name, self._cut(name, initial(name, self.config, self.settings.seed)))
        self.optimizer = AdamW(self.parameters, self.settings)

    def load_weights(self, folder: Path) -> None:
        """Each rank reads its slices."""
        stored = Pretrained(folder, self.config)
        for name in shapes(self.config):
            self._put(name, stored.slice(name, self.tensor_group.size, self.tensor_group.rank))

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> torch.Tensor:
        """Returns the loss as a tensor."""
        ids = torch.tensor(samples, dtype=torch.int64)
        loss = self.model(ids[:, :-1], ids[:, 1:])
        (loss * share).backward()
        return loss.detach()

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """Ranks of a tensor-parallel group have the same loss; replicas are averaged in order of rank."""
        own = torch.stack(list(losses)).mean()
        return float(self.data_group.sum(own.reshape(1)).item()) / self.data_group.size

    def reduce_and_clip(self, limit: float) -> float:
        """Replicas are averaged; a slice that several ranks hold counts once."""
        names = sorted(self.parameters)
        gradients = {name: self._gradient(name) for name in names}
        self.keys_group.sum_in_place(
            [gradients[name] for name in names if name.endswith(("k_proj.weight", "v_proj.weight"))]
        )
        self.data_group.sum_in_place([gradients[name] for name in names])
        squares = torch.zeros(1, dtype=torch.float64)
        for name in names:
            gradients[name].div_(self.data_group.size)
            squares += gradients[name].double().pow(2).sum() / copies(name, self.config, self.tensor_group.size)
        norm = float(self.tensor_group.sum(squares).sqrt().item())
        if limit > 0 and norm > limit:
            for name in names:
                gradients[name].mul_(limit / (norm + 1e-6))
        return norm

    def step(self, learning_rate: float) -> None:
        """AdamW in float32."""
        self.optimizer.step(learning_rate)

    def checkpoint_bytes(self) -> int:
        """Weights and two moments."""
        return 12 * sum(one.numel() for one in self.parameters.values()) if self.data_rank == 0 else 0

    def save(self, part: Part) -> None:
        """Write the weights of a rank, and a second file with its optimizer state."""
        if self.data_rank != 0:
            return
        weights, optimizer = self._files()
        metadata = {"tensor_rank": str(self.tensor_group.rank), "tensor_degree": str(self.tensor_group.size)}
        with part.open(weights) as stream:
            safetensors_stream.write(stream, self.parameters, metadata)
        with part.open(optimizer) as stream:
            torch.save(self.optimizer.state(), stream)

    def load(self, folder: Path) -> None:
        """Load the files of `save`."""
        from safetensors.torch import load_file

        weights, optimizer = self._files()
        for name, tensor in load_file(str(folder / weights)).items():
            self._put(name, tensor)
        self.optimizer.take(torch.load(folder / optimizer, map_location="cpu", weights_only=True))

    def parameters_sha256(self) -> str:
        """Joins one weight at a time, so that no process needs memory for the whole model."""
        return hashing.parameters_sha256(self.parameters, self._whole)

    def exchange(self, text: str) -> List[str]:
        """Over gloo."""
        return processes.exchange(text, self.world)

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()

    def _files(self) -> "tuple[str, str]":
        slice_of = f"tp{self.tensor_group.rank:02}-of-{self.tensor_group.size:02}"
        return f"model-{slice_of}.safetensors", f"optimizer-{slice_of}.pt"

    def _cut(self, name: str, whole: torch.Tensor) -> torch.Tensor:
        return cut(name, whole, self.config, self.tensor_group.size, self.tensor_group.rank)

    def _put(self, name: str, values: torch.Tensor) -> None:
        with torch.no_grad():
            self.parameters[name].copy_(values)

    def _gradient(self, name: str) -> torch.Tensor:
        parameter = self.parameters[name]
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        return parameter.grad

    def _whole(self, name: str) -> torch.Tensor:
        if pieces(name, self.config, self.tensor_group.size) == 1:
            return self.parameters[name]
        return join(name, self.tensor_group.gather(self.parameters[name].detach()), self.config)
