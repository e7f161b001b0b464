"""The configuration of a Llama model, from Hugging Face's config.json. Needs no torch."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, Optional, cast

from llm_fleet_training.failures import Code, fail


@dataclass(frozen=True)
class Rope:
    """Type of rotary positions: `default`, `linear` or `llama3`, as transformers names them."""

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    original_positions: int = 8192


@dataclass(frozen=True)
class ModelConfig:
    """A LlamaForCausalLM; sizes are numbers of elements."""

    vocabulary: int
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    positions: int
    epsilon: float
    tied: bool
    initial_range: float
    rope: Rope

    @property
    def fingerprint(self) -> str:
        """16 hex digits over all values that determine shape and meaning of the weights, not their initialization."""
        decisive = {name: value for name, value in asdict(self).items() if name not in ("initial_range", "positions")}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        attention = self.hidden * self.head_size * (2 * self.heads + 2 * self.kv_heads)
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        ends = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + ends + self.hidden

    def as_words(self) -> Dict[str, Any]:
        """For checkpoint.json, so that errors can name the difference."""
        return asdict(self)


def read(folder: Path) -> ModelConfig:
    """Read `config.json` of `folder`; LFJ03 when it is missing, damaged or not a supported Llama."""
    place = folder / "config.json"
    try:
        words = json.loads(place.read_text())
    except FileNotFoundError:
        fail(Code.MODEL_CONFIG, f"{place} is missing")
    except (OSError, ValueError) as error:
        fail(Code.MODEL_CONFIG, f"{place} cannot be read: {error}")
    if not isinstance(words, dict):
        fail(Code.MODEL_CONFIG, f"{place} is not a JSON object")
    return from_words(cast(Dict[str, Any], words), str(place))


def from_words(words: Dict[str, Any], place: str = "config.json") -> ModelConfig:
    """Parse the content of config.json."""
    _refuse_others(words, place)
    try:
        heads = int(words["num_attention_heads"])
        hidden = int(words["hidden_size"])
        config = ModelConfig(
            vocabulary=int(words["vocab_size"]),
            hidden=hidden,
            intermediate=int(words["intermediate_size"]),
            layers=int(words["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(words.get("num_key_value_heads") or heads),
            head_size=int(words.get("head_dim") or hidden // heads),
            positions=int(words.get("max_position_embeddings", 2048)),
            epsilon=float(words.get("rms_norm_eps", 1e-6)),
            tied=bool(words.get("tie_word_embeddings", False)),
            initial_range=float(words.get("initializer_range", 0.02)),
            rope=_rope(words, place),
        )
    except KeyError as missing:
        fail(Code.MODEL_CONFIG, f"{place} has no key {missing}")
    except (TypeError, ValueError, ZeroDivisionError) as error:
        fail(Code.MODEL_CONFIG, f"{place}: {error}")
    if config.heads % config.kv_heads:
        fail(Code.MODEL_CONFIG, f"{place}: {config.heads} heads cannot share {config.kv_heads} key-value heads")
    return config


def _refuse_others(words: Dict[str, Any], place: str) -> None:
    kind = words.get("model_type")
    if kind != "llama":
        fail(Code.MODEL_CONFIG, f"{place} has model_type {kind!r}; only `llama` is supported")
    if words.get("hidden_act", "silu") != "silu":
        fail(Code.MODEL_CONFIG, f"{place}: hidden_act is {words['hidden_act']!r}; only `silu` is supported")
    for key in ("attention_bias", "mlp_bias"):
        if words.get(key):
            fail(Code.MODEL_CONFIG, f"{place}: {key} is true; only false is supported")
    if words.get("attention_dropout"):
        fail(Code.MODEL_CONFIG, f"{place}: attention_dropout is {words['attention_dropout']}; only 0 is supported")


def _rope(words: Dict[str, Any], place: str) -> Rope:
    """transformers 5 writes `rope_parameters`, older releases `rope_theta` and `rope_scaling`."""
    rope: Dict[str, Any] = words.get("rope_parameters") or words.get("rope_scaling") or {}
    kind = str(rope.get("rope_type", rope.get("type", "default")))
    if kind not in ("default", "linear", "llama3"):
        fail(Code.MODEL_CONFIG, f"{place}: unknown rope type {kind!r}; allowed: default, linear, llama3")
    theta: Optional[Any] = rope.get("rope_theta", words.get("rope_theta"))
    return Rope(
        theta=float(theta if theta is not None else 10000.0),
        kind=kind,
        factor=float(rope.get("factor", 1.0)),
        low_frequency=float(rope.get("low_freq_factor", 1.0)),
        high_frequency=float(rope.get("high_freq_factor", 4.0)),
        original_positions=int(rope.get("original_max_position_embeddings", 8192)),
    )
