"""The options of `train` and `check`, parsed into `Settings`."""

from __future__ import annotations

import argparse
import os
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Dict

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.settings import Settings

HELP = {
    "run_folder": "run folder; it contains tokens, checkpoints, metrics and logs",
    "model": "a folder with the model's config.json",
    "backend": "cpu, fsdp, neuron or smp",
    "sequence_length": "tokens per sample",
    "global_batch": "samples per step, over all processes",
    "steps": "steps of the whole run, not only of this start",
    "micro_batch": "samples that a process computes together",
    "tensor_parallel": "tensor parallel degree: processes that share each layer",
    "pipeline_parallel": "pipeline parallel degree: groups of layers, each on its own processes",
    "context_parallel": "context parallel degree: processes that share each sample",
    "shard_degree": "processes that share weights and optimizer (FSDP); 0: all",
    "seed": "random seed of the initial weights and the order of samples",
    "learning_rate": "the highest learning rate",
    "minimum_learning_rate": "the learning rate of the last step",
    "warmup_steps": "steps until the highest learning rate",
    "weight_decay": "weight decay of matrices; norms have none",
    "clip": "maximum norm of the gradient; 0: no clipping",
    "checkpoint_every": "steps between checkpoints; the last step and a signal also write one",
    "checkpoints_kept": "how many of the newest checkpoints are kept",
    "from_weights": "folder with Hugging Face weights to start from when the run has no checkpoint",
    "mirror": "s3:// prefix: checkpoints are copied to it, and restored from it when the run folder has none",
    "precision": "mixed (16-bit compute on accelerators, float32 weights) or float32",
    "activation_checkpointing": "none, selective (attention) or full (layers): what the backward pass recomputes",
    "compile_only": "run this many steps with made-up tokens to fill the compiler's cache; nothing is saved",
    "smp_config": "settings of the SageMaker model parallel library; default: smp_config.json of the run, if present",
}
CHOICES = {"precision": ("mixed", "float32"), "activation_checkpointing": ("none", "selective", "full")}


def add(parser: argparse.ArgumentParser) -> None:
    """One option per field of `Settings`, with its type and default."""
    for one in fields(Settings):
        needed = one.default is MISSING
        words = HELP.get(one.name, "for AdamW") + ("" if needed or one.default is None else f" (default {one.default})")
        parser.add_argument(
            f"--{one.name.replace('_', '-')}",
            required=needed,
            default=None if needed else one.default,
            type=_type(str(one.type)),
            choices=CHOICES.get(one.name),
            metavar=None if one.name in CHOICES else one.name.rsplit("_", 1)[-1].upper(),
            help=words,
        )


def _type(name: str) -> Any:
    plain = name.replace("Optional[", "").rstrip("]")
    return {"int": int, "float": float, "str": _text, "Path": _path}[plain]


def _text(value: str) -> "str | None":
    """An empty value in a batch file means `None`."""
    return value or None


def _path(value: str) -> "Path | None":
    return Path(value) if value else None


def settings(parsed: argparse.Namespace) -> Settings:
    """Settings of the parsed arguments; LFJ01 for an empty or wrong value."""
    found: Dict[str, Any] = {one.name: getattr(parsed, one.name) for one in fields(Settings)}
    empty = [name for name in ("run_folder", "model", "backend") if found[name] is None]
    if empty:
        fail(Code.ARGUMENTS, f"--{empty[0].replace('_', '-')} is empty")
    mirror = found["mirror"]
    if mirror is not None and not mirror.startswith("s3://"):
        fail(Code.ARGUMENTS, f"--mirror is {mirror!r}; it must begin with s3://")
    own = found["run_folder"] / "smp_config.json"
    if found["smp_config"] is None and own.exists():
        found["smp_config"] = own
    return Settings(**found)


def processes() -> int:
    """Processes of this start, from the variables that torchrun sets."""
    return int(os.environ.get("WORLD_SIZE", "1"))
