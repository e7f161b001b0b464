"""The options of `train` and `check`, and the settings that they make."""

from __future__ import annotations

import argparse
import os
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Dict

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.settings import Settings

HELP = {
    "run_folder": "the run's folder: tokens, checkpoints, metrics and logs are below it",
    "model": "a folder with the model's config.json",
    "backend": "cpu, fsdp, neuron or smp",
    "sequence_length": "tokens a sample",
    "global_batch": "samples a step, over all processes",
    "steps": "steps of the whole run, not of this start",
    "micro_batch": "samples a process computes at once",
    "tensor_parallel": "processes that share each layer",
    "pipeline_parallel": "groups of layers on processes of their own",
    "context_parallel": "processes that share each sample",
    "shard_degree": "processes that share weights and optimizer (FSDP); 0: all",
    "seed": "decides first weights and the order of samples",
    "learning_rate": "the highest one",
    "minimum_learning_rate": "that of the last step",
    "warmup_steps": "steps up to the highest one",
    "weight_decay": "of matrices; norms have none",
    "clip": "bound of the gradient's norm; 0: none",
    "checkpoint_every": "steps between checkpoints; the last step and a signal make one, too",
    "checkpoints_kept": "the newest so many are kept",
    "from_weights": "a folder of Hugging Face weights to begin with, where there is no checkpoint",
    "mirror": "s3:// prefix that checkpoints are copied to, and restored from where the folder has none",
    "precision": "mixed (16-bit compute on accelerators, float32 weights) or float32",
    "activation_checkpointing": "none, selective (attention) or full (layers): what is worked out again",
    "compile_only": "take so many steps of made-up tokens, to fill the compiler's cache, and keep nothing",
    "smp_config": "settings of the SageMaker model parallel library; without: smp_config.json of the run, if there",
}
CHOICES = {"precision": ("mixed", "float32"), "activation_checkpointing": ("none", "selective", "full")}


def add(parser: argparse.ArgumentParser) -> None:
    """One option a field of `Settings`, of its type and with its default."""
    for one in fields(Settings):
        needed = one.default is MISSING
        words = HELP.get(one.name, "of AdamW") + ("" if needed or one.default is None else f" (default {one.default})")
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
    """An empty setting of a batch file is none."""
    return value or None


def _path(value: str) -> "Path | None":
    return Path(value) if value else None


def settings(parsed: argparse.Namespace) -> Settings:
    """The settings of what was given."""
    found: Dict[str, Any] = {one.name: getattr(parsed, one.name) for one in fields(Settings)}
    empty = [name for name in ("run_folder", "model", "backend") if found[name] is None]
    if empty:
        fail(Code.ARGUMENTS, f"--{empty[0].replace('_', '-')} is empty")
    mirror = found["mirror"]
    if mirror is not None and not mirror.startswith("s3://"):
        fail(Code.ARGUMENTS, f"--mirror is {mirror!r}; it begins with s3://")
    own = found["run_folder"] / "smp_config.json"
    if found["smp_config"] is None and own.exists():
        found["smp_config"] = own
    return Settings(**found)


def processes() -> int:
    """Of this start, as torchrun tells."""
    return int(os.environ.get("WORLD_SIZE", "1"))
