"""Layers that really hold slices, and reject the same arguments as the real ones."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from neuronx_distributed.parallel_layers.mappings import Reduce, copy_to_tensor_model_parallel_region
from neuronx_distributed.parallel_layers.parallel_state import (
    get_tensor_model_parallel_rank,
    get_tensor_model_parallel_size,
)
from tests.llm_fleet_training.documented import documented

_LAYERS = "neuronx_distributed.parallel_layers.layers"


def _weight(rows: int, columns: int, along: int, dtype: torch.dtype, init_method: Any) -> nn.Parameter:
    """The real ones make the whole matrix, have it initialized, and copy their slice."""
    degree, rank = get_tensor_model_parallel_size(), get_tensor_model_parallel_rank()
    size = (rows, columns)[along]
    assert size % degree == 0, f"{size} is not divisible by {degree}"
    whole = torch.zeros(rows, columns)
    init_method(whole)
    weight = nn.Parameter(whole.chunk(degree, dim=along)[rank].to(dtype).clone())
    weight.tensor_model_parallel = True
    return weight


class ParallelEmbedding(nn.Module):
    @documented(f"{_LAYERS}.ParallelEmbedding")
    def __init__(self, num_embeddings: int, embedding_dim: int, **options: Any) -> None:
        super().__init__()
        assert not options.get("shard_across_embedding")
        dtype = options.get("dtype", torch.float32)
        self.weight = _weight(num_embeddings, embedding_dim, 0, dtype, options["init_method"])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        words = self.weight.shape[0]
        own = ids - get_tensor_model_parallel_rank() * words
        mine = (own >= 0) & (own < words)
        found = functional.embedding(own * mine.long(), self.weight)
        return Reduce.apply(found * mine.unsqueeze(-1).to(found.dtype))


class ColumnParallelLinear(nn.Module):
    @documented(f"{_LAYERS}.ColumnParallelLinear")
    def __init__(self, input_size: int, output_size: int, **options: Any) -> None:
        super().__init__()
        assert options["bias"] is False, "the model has no biases"
        assert options["gather_output"] is False, "the output stays sliced"
        self.weight = _weight(output_size, input_size, 0, options["dtype"], options["init_method"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(copy_to_tensor_model_parallel_region(x), self.weight)


class RowParallelLinear(nn.Module):
    @documented(f"{_LAYERS}.RowParallelLinear")
    def __init__(self, input_size: int, output_size: int, **options: Any) -> None:
        super().__init__()
        assert options["bias"] is False, "the model has no biases"
        assert options["input_is_parallel"] is True, "the input is sliced"
        self.weight = _weight(output_size, input_size, 1, options["dtype"], options["init_method"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Reduce.apply(functional.linear(x, self.weight))
