"""The layers from which a backend builds the model: unsharded, or a rank's slices."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import nn
from torch.nn import functional


class Layers(Protocol):
    """A factory of layers; sizes are those of the whole model, the factory divides them."""

    degree: int
    """Tensor parallel degree, by which the model divides its heads."""

    def embedding(self, words: int, size: int) -> nn.Module:
        """Ids in, vectors out, the same ones on every rank; sliced along the words."""
        ...

    def column(self, inputs: int, outputs: int) -> nn.Module:
        """A linear without bias whose output is sliced: a rank's module has `outputs / degree` rows."""
        ...

    def keys(self, inputs: int, heads: int, head_size: int) -> nn.Module:
        """As `column`, of keys or values, of which a rank has one head at least."""
        ...

    def row(self, inputs: int, outputs: int) -> nn.Module:
        """A linear without bias whose input is sliced, and whose output is summed over the ranks."""
        ...

    def norm(self, size: int, epsilon: float) -> nn.Module:
        """RMSNorm, whole on every rank."""
        ...

    def loss(self, logits: Any, targets: Any) -> Any:
        """Mean cross entropy in float32, of logits as `column` gives them."""
        ...


class RmsNorm(nn.Module):
    """RMSNorm, computed in float32 for any input type, as in transformers."""

    def __init__(self, size: int, epsilon: float) -> None:
        """Weights are initialized with 1."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Divide by the root of the mean square."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return self.weight * wide.to(x.dtype)


class WholeLayers:
    """Every rank has every weight: one process, or FSDP, which shards by itself."""

    degree = 1

    def embedding(self, words: int, size: int) -> nn.Module:
        """Torch's own."""
        return nn.Embedding(words, size)

    def column(self, inputs: int, outputs: int) -> nn.Module:
        """Torch's own."""
        return nn.Linear(inputs, outputs, bias=False)

    def keys(self, inputs: int, heads: int, head_size: int) -> nn.Module:
        """Torch's own."""
        return nn.Linear(inputs, heads * head_size, bias=False)

    def row(self, inputs: int, outputs: int) -> nn.Module:
        """Torch's own."""
        return nn.Linear(inputs, outputs, bias=False)

    def norm(self, size: int, epsilon: float) -> nn.Module:
        """RMSNorm as in transformers."""
        return RmsNorm(size, epsilon)

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean over all tokens."""
        return functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
