"""Tensor-parallel neighbors have neighboring ranks, as on trn1."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch.distributed as dist
import torch_xla.core.xla_model as xm

_TENSOR = 0


def initialize_model_parallel(
    tensor_model_parallel_size: int = 1,
    pipeline_model_parallel_size: int = 1,
    expert_model_parallel_size: int = 1,
    lnc_size: int = 1,
    context_parallel_size: int = 1,
) -> None:
    global _TENSOR
    assert dist.get_world_size() % tensor_model_parallel_size == 0
    assert pipeline_model_parallel_size == expert_model_parallel_size == context_parallel_size == 1
    _TENSOR = tensor_model_parallel_size


def model_parallel_is_initialized() -> bool:
    return _TENSOR > 0


def get_tensor_model_parallel_size() -> int:
    return _TENSOR


def get_tensor_model_parallel_rank() -> int:
    return dist.get_rank() % _TENSOR


def get_data_parallel_size() -> int:
    return dist.get_world_size() // _TENSOR


def get_data_parallel_rank() -> int:
    return dist.get_rank() // _TENSOR


def get_tensor_model_parallel_replica_groups() -> list[list[int]]:
    return [list(range(start, start + _TENSOR)) for start in range(0, dist.get_world_size(), _TENSOR)]


def get_data_parallel_replica_groups() -> list[list[int]]:
    return [list(range(start, dist.get_world_size(), _TENSOR)) for start in range(_TENSOR)]


def get_tensor_model_parallel_group(as_list: bool = False) -> Any:
    rows = get_tensor_model_parallel_replica_groups()
    return rows if as_list else xm.group_of(rows)


def get_data_parallel_group(as_list: bool = False) -> Any:
    rows = get_data_parallel_replica_groups()
    return rows if as_list else xm.group_of(rows)
