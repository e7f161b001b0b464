"""Checkpoints of SMP: sharded ones to resume from, and the weights by Hugging Face's names for `convert`.

A model that SMP has not transformed is a plain FSDP model, and is saved as in the backend fsdp. For a transformed
model, each tensor-parallel rank's shards are in `smp/tpNN/`, by the API of model-parallel-core-features-v2-checkpoints;
the whole model is in `distributed/`, which the library translates back to Hugging Face's names.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from llm_fleet_training.backends.fsdp.distributed_checkpoint import FOLDER
from llm_fleet_training.checkpoints.part import Part

SHARDS = "smp"


def whole_weights(model: Any) -> Dict[str, torch.Tensor]:
    """Every weight by its Hugging Face name, on the host of the first process; empty on others. Collective."""
    gathered = FullStateDictConfig(rank0_only=True, offload_to_cpu=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, gathered):
        return dict(model.state_dict())


def save(model: Any, optimizer: Any, part: Part, state: Any, exchange: Callable[[str], List[str]]) -> None:
    """Collective; the first replica writes."""
    from torch.sagemaker.utils.process_group_utils import get_global_ranks

    place = Path(SHARDS) / f"tp{state.tp_rank:02}"
    group = model.process_group
    first = min(get_global_ranks(group))
    writes = state.ranker.get_rep_rank(dist.get_rank()) == 0
    with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        words = {"model": model.state_dict(), "optimizer": FSDP.optim_state_dict(model, optimizer)}
    weights = whole_weights(model)
    error = _write(part, words if writes else None, weights if dist.get_rank() == 0 else None, place, group, first)
    exchange("")  # Agree after all writes: a process that failed earlier would leave the others waiting.
    if error is not None:
        raise error
    if writes:
        _adopt(part, place, dist.get_rank(group), dist.get_rank() == first)
    if dist.get_rank() == 0:
        for path in sorted((part.folder / FOLDER).iterdir()):
            part.adopt(f"{FOLDER}/{path.name}")


def _write(part: Part, words: Any, weights: Any, place: Path, group: Any, first: int) -> Optional[Exception]:
    """Write the shards of this process and the whole weights; returns the error, if any."""
    from torch.sagemaker.distributed.checkpoint.state_dict_saver import save as save_shards

    folder = part.folder / place
    try:
        if words is not None:
            folder.mkdir(parents=True, exist_ok=True)
            save_shards(words, checkpoint_id=str(folder), process_group=group, coordinator_rank=first)
        if weights is not None:
            storage = dcp.FileSystemWriter(part.folder / FOLDER, sync_files=True)
            dcp.save({"model": weights}, storage_writer=storage, no_dist=True)
    except Exception as error:  # CheckpointException holds the processes' errors as text.
        if "No space left" in str(error):
            return OSError(errno.ENOSPC, "No space left on device", str(part.folder))
        return error
    return None


def _adopt(part: Part, place: Path, rank: int, is_first: bool) -> None:
    """A process syncs and digests files with its rank in their name; the first process, files without a rank."""
    for path in sorted((part.folder / place).iterdir()):
        owner = path.name[2:].split("_")[0] if path.name.startswith("__") else ""
        if owner == str(rank) or (is_first and not owner.isdigit()):
            part.adopt(f"{place}/{path.name}")


def load(model: Any, optimizer: Any, folder: Path, state: Any) -> None:
    """Load the files of `save`, at the same degrees. Collective."""
    from torch.distributed.checkpoint.optimizer import load_sharded_optimizer_state_dict
    from torch.sagemaker.distributed.checkpoint.filesystem import DistributedFileSystemReader
    from torch.sagemaker.distributed.checkpoint.state_dict_loader import load as load_shards
    from torch.sagemaker.utils.process_group_utils import get_global_ranks

    reader = DistributedFileSystemReader(str(folder / SHARDS / f"tp{state.tp_rank:02}"))
    group = model.process_group
    with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        words = {"model": model.state_dict()}
        first = min(get_global_ranks(group))
        load_shards(words, storage_reader=reader, process_group=group, coordinator_rank=first)
        model.load_state_dict(words["model"])
        moments = load_sharded_optimizer_state_dict(
            model_state_dict=words["model"], optimizer_key="optimizer", storage_reader=reader, process_group=group
        )
        flat = FSDP.optim_state_dict_to_load(model, optimizer, moments["optimizer"], group=group)
        optimizer.load_state_dict(flat)
