"""Copies config, tokenizer and license of a model to the converted weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.weights.entries import is_small

_NOT_COPIED = ("download.json", "convert.json", "config.json")


def copy_small_files(source: Path, target: Path) -> List[str]:
    """Copy all files without weights; returns their names."""
    copied: List[str] = []
    for path in sorted(source.iterdir()):
        if path.is_file() and path.name not in _NOT_COPIED and is_small(path.name):
            shutil.copyfile(path, target / path.name)
            copied.append(path.name)
    return copied


def write_config(source: Path, target: Path, dtype: str) -> None:
    """The model's config with the type of its weights; transformers 4 can read it, too."""
    words: Dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    words.pop("dtype", None)
    words["torch_dtype"] = dtype
    words.setdefault("architectures", ["LlamaForCausalLM"])
    rope: Dict[str, Any] = words.get("rope_parameters") or {}
    if "rope_theta" in rope:
        # transformers 5 writes only `rope_parameters`, which the older releases in model servers do not read.
        words.setdefault("rope_theta", rope["rope_theta"])
        if rope.get("rope_type", "default") != "default":
            words.setdefault("rope_scaling", {key: value for key, value in rope.items() if key != "rope_theta"})
    (target / "config.json").write_text(json.dumps(words, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_generation_config(target: Path) -> None:
    """Tokens that begin and end a text, when the model has no generation config of its own."""
    place = target / "generation_config.json"
    if place.exists():
        return
    config: Dict[str, Any] = json.loads((target / "config.json").read_text(encoding="utf-8"))
    ids = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(key) is not None}
    place.write_text(json.dumps({"_from_model_config": True, **ids}, indent=2) + "\n", encoding="utf-8")
