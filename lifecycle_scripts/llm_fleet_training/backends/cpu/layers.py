"""The model's layers, each rank with its slice of the weights."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from llm_fleet_training.backends.cpu.ordered import FromSlices, Group, ToSlices
from llm_fleet_training.model.layers import RmsNorm


class ColumnLinear(nn.Module):
    """Rows of the weight; the output stays sliced."""

    def __init__(self, inputs: int, outputs: int, group: Group) -> None:
        """`outputs` are those of this rank."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The whole input in, a slice out."""
        return functional.linear(ToSlices.apply(x, self.group), self.weight)


class RowLinear(nn.Module):
    """Columns of the weight; the input is sliced already."""

    def __init__(self, inputs: int, outputs: int, group: Group) -> None:
        """`inputs` are those of this rank."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A slice in, the whole output out."""
        return FromSlices.apply(functional.linear(x, self.weight), self.group)


class SlicedEmbedding(nn.Module):
    """A rank has some of the words, and returns zeros for others."""

    def __init__(self, words: int, size: int, group: Group) -> None:
        """`words` are those of this rank."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, size))
        self.group = group

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Vectors, the same on every rank."""
        words = self.weight.shape[0]
        own = ids - self.group.rank * words
        strange = (own < 0) | (own >= words)
        found = functional.embedding(own.masked_fill(strange, 0), self.weight)
        return FromSlices.apply(found.masked_fill(strange.unsqueeze(-1), 0.0), self.group)


class SlicedLayers:
    """The factory of one tensor-parallel group."""

    def __init__(self, group: Group) -> None:
        """Slices are those of `group.rank`."""
        self.group = group
        self.degree = group.size

    def embedding(self, words: int, size: int) -> nn.Module:
        """Sliced along the words."""
        return SlicedEmbedding(words // self.degree, size, self.group)

    def column(self, inputs: int, outputs: int) -> nn.Module:
        """Sliced along the outputs."""
        return ColumnLinear(inputs, outputs // self.degree, self.group)

    def keys(self, inputs: int, heads: int, head_size: int) -> nn.Module:
        """Sliced by heads, one at least."""
        return ColumnLinear(inputs, max(1, heads // self.degree) * head_size, self.group)

    def row(self, inputs: int, outputs: int) -> nn.Module:
        """Sliced along the inputs."""
        return RowLinear(inputs // self.degree, outputs, self.group)

    def norm(self, size: int, epsilon: float) -> nn.Module:
        """Whole."""
        return RmsNorm(size, epsilon)

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross entropy of logits of which each rank has some words; no rank gathers all of them."""
        logits = logits.float()
        if self.degree == 1:
            return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        highest = torch.stack(self.group.gather(logits.detach().amax(-1))).amax(0)
        shifted = logits - highest.unsqueeze(-1)
        total = FromSlices.apply(shifted.exp().sum(-1), self.group)
        words = logits.shape[-1]
        own = targets - self.group.rank * words
        strange = (own < 0) | (own >= words)
        picked = shifted.gather(-1, own.masked_fill(strange, 0).unsqueeze(-1)).squeeze(-1)
        right = FromSlices.apply(picked.masked_fill(strange, 0.0), self.group)
        return (total.log() - right).mean()
