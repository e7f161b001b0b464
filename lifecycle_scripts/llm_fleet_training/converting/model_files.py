"""What of a model's folder goes with converted weights: config, tokenizer, licence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.weights.entries import is_small

_NOT_COPIED = ("download.json", "convert.json", "config.json")


def copy_small_files(source: Path, target: Path) -> List[str]:
    """Copy what no weights are in; returns the names."""
    copied: List[str] = []
    for path in sorted(source.iterdir()):
        if path.is_file() and path.name not in _NOT_COPIED and is_small(path.name):
            shutil.copyfile(path, target / path.name)
            copied.append(path.name)
    return copied


def write_config(source: Path, target: Path, dtype: str) -> None:
    """The model's own config with the type of its weights; in words that transformers 4 knows too."""
    words: Dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    words.pop("dtype", None)
    words["torch_dtype"] = dtype
    words.setdefault("architectures", ["LlamaForCausalLM"])
    rope: Dict[str, Any] = words.get("rope_parameters") or {}
    if "rope_theta" in rope:
        # transformers 5 has all of it in `rope_parameters`, of which the servers' older releases know nothing.
        words.setdefault("rope_theta", rope["rope_theta"])
        if rope.get("rope_type", "default") != "default":
            words.setdefault("rope_scaling", {key: value for key, value in rope.items() if key != "rope_theta"})
    (target / "config.json").write_text(json.dumps(words, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_generation_config(target: Path) -> None:
    """What begins and ends a text, where the model's makers have no file of their own."""
    place = target / "generation_config.json"
    if place.exists():
        return
    config: Dict[str, Any] = json.loads((target / "config.json").read_text(encoding="utf-8"))
    reported = {
        key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(key) is not None
    }
    place.write_text(json.dumps({"_from_model_config": True, **reported}, indent=2) + "\n", encoding="utf-8")
