"""Registers `xla` with torch.distributed, implemented with gloo."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from datetime import timedelta

import torch.distributed as dist


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroup:
    return dist.ProcessGroupGloo(store, rank, size, timeout)


if "XLA" not in dist.Backend.backend_type_map and not hasattr(dist.Backend, "XLA"):
    dist.Backend.register_backend("xla", _create, devices=["cpu"])
