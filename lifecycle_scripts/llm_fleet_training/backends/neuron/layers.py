"""The model's layers, built from layers of neuronx_distributed."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import math
from typing import Any, List

import torch
from torch import nn
from torch.nn import functional

from llm_fleet_training.model.layers import RmsNorm

MASKED = -10000.0
"""The value of a masked score. Finite, as in AWS's own Llama for NxD: the compiler may fold an infinity into NaN."""


class AddedUp(torch.autograd.Function):
    """For a weight that several ranks hold: identity forward, sum of gradients backward."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, groups: List[List[int]]) -> torch.Tensor:
        """The weight itself."""
        ctx.groups = groups
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sums the parts of the gradient that each rank's queries produce."""
        import torch_xla.core.xla_model as xm

        return xm.all_reduce(xm.REDUCE_SUM, gradient, groups=ctx.groups, pin_layout=False), None


class CopiedLinear(nn.Module):
    """Keys or values of one head that consecutive ranks share, when there are fewer heads than ranks.

    NxD's own `GQAQKVColumnParallelLinear` assigns heads in turn (0, 1, 0, 1), which also moves heads
    of queries; consecutive ranks with the same head keep every rank's slices as in `model/sharding.py`, which `convert`
    reads.
    """

    def __init__(self, inputs: int, outputs: int, groups: List[List[int]], dtype: torch.dtype) -> None:
        """`outputs` are those of one head, `groups` the ranks that hold the same one."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, dtype=dtype))
        self.groups = groups

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The whole input in, one head out."""
        from neuronx_distributed.parallel_layers.mappings import copy_to_tensor_model_parallel_region

        return functional.linear(copy_to_tensor_model_parallel_region(x), AddedUp.apply(self.weight, self.groups))


class NxdLayers:
    """The factory of one tensor-parallel group; NxD's parallel state is set up."""

    def __init__(self, dtype: torch.dtype) -> None:
        """`dtype` is that of weights and activations."""
        from neuronx_distributed.parallel_layers import parallel_state

        self.dtype = dtype
        self.degree: int = parallel_state.get_tensor_model_parallel_size()
        self._groups: List[List[int]] = tensor_groups()

    def embedding(self, words: int, size: int) -> nn.Module:
        """Sliced along the words."""
        from neuronx_distributed.parallel_layers.layers import ParallelEmbedding

        return ParallelEmbedding(words, size, init_method=as_it_is, dtype=self.dtype)

    def column(self, inputs: int, outputs: int) -> nn.Module:
        """Sliced along the outputs."""
        from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear

        return ColumnParallelLinear(
            inputs, outputs, bias=False, gather_output=False, init_method=as_it_is, dtype=self.dtype
        )

    def keys(self, inputs: int, heads: int, head_size: int) -> nn.Module:
        """Sliced by heads, one at least."""
        if heads >= self.degree:
            return self.column(inputs, heads * head_size)
        copies = self.degree // heads
        rows = [row[start : start + copies] for row in self._groups for start in range(0, self.degree, copies)]
        linear = CopiedLinear(inputs, head_size, rows, self.dtype)
        # Same as in NxD: its gradient norm counts such a weight on each rank. Every rank must have the same graph.
        setattr(linear.weight, "tensor_model_parallel", True)  # noqa: B010
        return linear

    def row(self, inputs: int, outputs: int) -> nn.Module:
        """Sliced along the inputs."""
        from neuronx_distributed.parallel_layers.layers import RowParallelLinear

        return RowParallelLinear(
            inputs, outputs, bias=False, input_is_parallel=True, init_method=as_it_is, dtype=self.dtype
        )

    def norm(self, size: int, epsilon: float) -> nn.Module:
        """Whole."""
        return RmsNorm(size, epsilon).to(self.dtype)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Causal attention of (batch, heads, length, head size), softmax in float32."""
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.shape[-1])
        length = q.shape[2]
        later = torch.triu(torch.ones((1, 1, length, length), device=q.device), diagonal=1).bool()
        scores = scores.masked_fill(later, MASKED)
        return torch.matmul(functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype), v)

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross entropy of logits of which each rank has some words."""
        from neuronx_distributed.parallel_layers.loss_functions import parallel_cross_entropy

        # A copy: NxD subtracts the maximum in place.
        return parallel_cross_entropy(logits.to(torch.float32, copy=True), targets).mean()


def tensor_groups() -> List[List[int]]:
    """The ranks of every tensor-parallel group."""
    from neuronx_distributed.parallel_layers import parallel_state

    if hasattr(parallel_state, "get_tensor_model_parallel_replica_groups"):
        return [list(row) for row in parallel_state.get_tensor_model_parallel_replica_groups()]
    return [list(row) for row in parallel_state.get_tensor_model_parallel_group(as_list=True)]


def data_groups() -> List[List[int]]:
    """The ranks of every group of replicas."""
    from neuronx_distributed.parallel_layers import parallel_state

    if hasattr(parallel_state, "get_data_parallel_replica_groups"):
        return [list(row) for row in parallel_state.get_data_parallel_replica_groups()]
    return [list(row) for row in parallel_state.get_data_parallel_group(as_list=True)]


def as_it_is(weight: torch.Tensor) -> torch.Tensor:
    """An `init_method` that does not initialize: every weight gets its value later."""
    return weight
