"""Sums over processes, added in order of rank, so that results are bit-identical."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Sequence

import torch
import torch.distributed as dist

BUCKET = 1 << 22
"""Elements per message."""


@dataclass(frozen=True)
class Group:
    """Some of the processes; `handle` is torch's, None for this process alone."""

    handle: Any
    size: int
    rank: int

    def gather(self, tensor: torch.Tensor) -> List[torch.Tensor]:
        """The tensors of all processes, by rank."""
        if self.size == 1:
            return [tensor]
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(found, tensor.contiguous(), group=self.handle)
        return found

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Added up in order of rank."""
        if self.size == 1:
            return tensor
        first, *others = self.gather(tensor)
        for other in others:
            first += other
        return first

    def sum_in_place(self, tensors: Sequence[torch.Tensor]) -> None:
        """Replace each tensor by its sum, many of them in one message."""
        if self.size == 1:
            return
        bucket: List[torch.Tensor] = []
        for tensor in tensors:
            bucket.append(tensor)
            if sum(one.numel() for one in bucket) >= BUCKET:
                self._sum_bucket(bucket)
                bucket = []
        if bucket:
            self._sum_bucket(bucket)

    def _sum_bucket(self, bucket: List[torch.Tensor]) -> None:
        summed = self.sum(torch.cat([tensor.reshape(-1) for tensor in bucket]))
        start = 0
        for tensor in bucket:
            tensor.copy_(summed[start : start + tensor.numel()].view_as(tensor))
            start += tensor.numel()


class ToSlices(torch.autograd.Function):
    """For an input that every rank's slice uses: identity forward, sum of gradients backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        """The input itself."""
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sums the ranks' parts of the gradient."""
        return ctx.group.sum(gradient), None


class FromSlices(torch.autograd.Function):
    """For results that are sums over the ranks: sum forward, identity backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        """The sum."""
        return group.sum(x).view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The same on every rank already."""
        return gradient, None
