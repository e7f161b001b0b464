"""Chooses the collectives: SMDDP on p4d and p4de, NCCL on other instances.

Since 2.3.0 SMDDP cannot be imported on other instances (data-parallel-release-notes); AWS's own HyperPod adapter
for NeMo falls back to NCCL when the import fails, as `auto` does here.
"""

from __future__ import annotations

import os
from importlib import import_module

from llm_fleet_training.failures import Code, fail

VARIABLE = "LLM_FLEET_SMP_BACKEND"


def collectives() -> str:
    """`smddp` or `nccl`; LFJ24 when `smddp` is set and does not run here, or for another value."""
    requested = os.environ.get(VARIABLE, "") or "auto"
    if requested not in ("auto", "nccl", "smddp"):
        fail(Code.SMP_BACKEND, f"{VARIABLE} is `{requested}`")
    if requested == "nccl":
        return "nccl"
    try:
        import_module("smdistributed.dataparallel.torch.torch_smddp")  # Registers `smddp` with torch.distributed.
    except Exception as error:  # ImportError, or an exception of the library on an unsupported instance.
        if requested == "smddp":
            fail(Code.SMP_BACKEND, f"smddp does not run on {os.uname().nodename}: {error}")
        return "nccl"
    return "smddp"
