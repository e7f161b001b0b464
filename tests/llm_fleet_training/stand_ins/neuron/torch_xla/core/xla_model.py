"""The part of torch_xla's functional interface that the program uses; groups are lists of ranks."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch
import torch.distributed as dist

from tests.llm_fleet_training.documented import documented

REDUCE_SUM = "sum"
_GROUPS: dict[str, Any] = {}


@documented("torch_xla.core.xla_model.xla_device")
def xla_device(n: Any = None, devkind: Any = None) -> torch.device:
    return torch.device("cpu")


@documented("torch_xla.core.xla_model.set_rng_state")
def set_rng_state(seed: int, device: Any = None) -> None:
    torch.manual_seed(seed)


@documented("torch_xla.core.xla_model.mark_step")
def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    pass


@documented("torch_xla.core.xla_model.all_reduce")
def all_reduce(
    reduce_type: str, inputs: Any, scale: float = 1.0, groups: Any = None, cctx: Any = None, pin_layout: bool = True
) -> Any:
    assert reduce_type == REDUCE_SUM
    group = group_of(groups)
    if isinstance(inputs, torch.Tensor):
        found = inputs.detach().clone()
        dist.all_reduce(found, group=group)
        return found * scale
    for one in inputs:  # A list is reduced in place.
        dist.all_reduce(one, group=group)
        one.mul_(scale)
    return inputs


@documented("torch_xla.core.xla_model.all_gather")
def all_gather(
    value: torch.Tensor,
    dim: int = 0,
    groups: Any = None,
    output: Any = None,
    pin_layout: bool = True,
    channel_id: Any = None,
    use_global_device_ids: Any = None,
) -> torch.Tensor:
    group = group_of(groups)
    found = [torch.empty_like(value) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, value.contiguous(), group=group)
    return torch.cat(found, dim=dim)


def group_of(groups: Any) -> Any:
    """This rank's process group in a partition of all ranks, which must be the same on every process."""
    if groups is None:
        return None
    key = repr(groups)
    if key not in _GROUPS:
        assert sorted(rank for row in groups for rank in row) == list(range(dist.get_world_size())), groups
        made = [dist.new_group(row) for row in groups]
        _GROUPS[key] = next(one for one, row in zip(made, groups, strict=True) if dist.get_rank() in row)
    return _GROUPS[key]
