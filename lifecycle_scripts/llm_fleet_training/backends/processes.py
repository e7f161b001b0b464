"""Rank and process group, from the variables that torchrun sets; a single process without torchrun."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import os
from typing import Any, List, Tuple


def place() -> Tuple[int, int]:
    """Rank and number of processes."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def join(kind: str) -> None:
    """Make the default process group of `kind` (gloo, nccl or `cpu:gloo,cuda:nccl`)."""
    import torch.distributed as dist

    rank, world = place()
    if "MASTER_ADDR" in os.environ:
        dist.init_process_group(kind)
    else:
        dist.init_process_group(kind, store=dist.HashStore(), rank=rank, world_size=world)


def exchange(text: str, world: int, group: Any = None) -> List[str]:
    """Gather one text per process, by rank, over a CPU process group."""
    import torch.distributed as dist

    if world == 1:
        return [text]
    found: List[Any] = [None] * world
    dist.all_gather_object(found, text, group=group)
    return [str(one) for one in found]
