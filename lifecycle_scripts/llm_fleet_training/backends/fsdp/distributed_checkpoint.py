"""`torch.distributed.checkpoint` below a checkpoint's folder: `distributed/`, keys `model.<name>` and `optimizer.…`."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, Dict

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from llm_fleet_training.checkpoints.part import Part

FOLDER = "distributed"


def save(model: Any, optimizer: Any, part: Part, rank: int) -> None:
    """Collective: an error of one process is raised on all."""
    folder = part.folder / FOLDER
    part.watch("distributed")
    try:
        dcp.save(_state(model, optimizer), storage_writer=dcp.FileSystemWriter(folder, sync_files=True))
    except Exception as error:  # CheckpointException holds the processes' errors as text.
        if "No space left" in str(error):
            raise OSError(errno.ENOSPC, "No space left on device", str(folder)) from error
        raise
    for path in sorted(folder.glob(f"__{rank}_*.distcp")):
        part.adopt(f"{FOLDER}/{path.name}")
    if rank == 0:
        part.adopt(f"{FOLDER}/.metadata")


def load(model: Any, optimizer: Any, folder: Path) -> None:
    """Collective."""
    state = _state(model, optimizer)
    dcp.load(state, storage_reader=dcp.FileSystemReader(folder / FOLDER))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def _state(model: Any, optimizer: Any) -> Dict[str, Any]:
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}
