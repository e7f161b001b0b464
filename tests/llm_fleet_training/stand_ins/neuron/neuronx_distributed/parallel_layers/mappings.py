"""Inputs and outputs of sliced layers."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch
import torch.distributed as dist

from neuronx_distributed.parallel_layers.parallel_state import get_tensor_model_parallel_group
from tests.llm_fleet_training.documented import documented


class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return summed(gradient)


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return summed(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def summed(x: torch.Tensor, op: Any = dist.ReduceOp.SUM) -> torch.Tensor:
    found = x.detach().clone().contiguous()
    dist.all_reduce(found, op=op, group=get_tensor_model_parallel_group())
    return found


@documented("neuronx_distributed.parallel_layers.mappings.copy_to_tensor_model_parallel_region")
def copy_to_tensor_model_parallel_region(input_: torch.Tensor, process_group: Any = None) -> torch.Tensor:
    return _Copy.apply(input_)
