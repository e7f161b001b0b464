"""The dimension along which tensor parallelism slices each weight: the table of all backends and `convert`.

Tensor-parallel rank r of n holds slice r of n. When there are fewer key-value heads than ranks,
consecutive ranks hold the same head, e.g. with 2 heads on 8 ranks, ranks 0 to 3 hold head 0. Needs torch only to
cut and join.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any, Dict, List, Optional, Sequence, Tuple

from llm_fleet_training.model.config import ModelConfig

ROWS = 0
"""Slices of a matrix's output: a column-parallel linear in the words of Megatron-LM (weights are stored transposed)."""
COLUMNS = 1
"""Slices of a matrix's input: a row-parallel linear, whose results are summed over the ranks."""

SLICED: Dict[str, Optional[int]] = {
    "model.embed_tokens": ROWS,
    "lm_head": ROWS,
    "q_proj": ROWS,
    "k_proj": ROWS,
    "v_proj": ROWS,
    "o_proj": COLUMNS,
    "gate_proj": ROWS,
    "up_proj": ROWS,
    "down_proj": COLUMNS,
    "input_layernorm": None,
    "post_attention_layernorm": None,
    "model.norm": None,
}


def _row(name: str) -> str:
    """The row of the table for a weight's name."""
    stem = name[: -len(".weight")]
    return stem if stem in SLICED else stem.rsplit(".", 1)[-1]


def dimension(name: str) -> Optional[int]:
    """The dimension along which a weight is sliced; None when each rank has all of it."""
    return SLICED[_row(name)]


def pieces(name: str, config: ModelConfig, degree: int) -> int:
    """The number of different slices of a weight."""
    if dimension(name) is None:
        return 1
    return min(degree, config.kv_heads) if _row(name) in ("k_proj", "v_proj") else degree


def copies(name: str, config: ModelConfig, degree: int) -> int:
    """The number of tensor-parallel ranks that hold the same slice."""
    return degree // pieces(name, config, degree)


@lru_cache(maxsize=8)
def shapes(config: ModelConfig) -> Dict[str, Tuple[int, ...]]:
    """Every weight's name and whole shape, in the order of the model."""
    queries, keys = config.heads * config.head_size, config.kv_heads * config.head_size
    found: Dict[str, Tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocabulary, config.hidden)}
    for layer in range(config.layers):
        stem = f"model.layers.{layer}"
        found[f"{stem}.self_attn.q_proj.weight"] = (queries, config.hidden)
        found[f"{stem}.self_attn.k_proj.weight"] = (keys, config.hidden)
        found[f"{stem}.self_attn.v_proj.weight"] = (keys, config.hidden)
        found[f"{stem}.self_attn.o_proj.weight"] = (config.hidden, queries)
        found[f"{stem}.mlp.gate_proj.weight"] = (config.intermediate, config.hidden)
        found[f"{stem}.mlp.up_proj.weight"] = (config.intermediate, config.hidden)
        found[f"{stem}.mlp.down_proj.weight"] = (config.hidden, config.intermediate)
        found[f"{stem}.input_layernorm.weight"] = (config.hidden,)
        found[f"{stem}.post_attention_layernorm.weight"] = (config.hidden,)
    found["model.norm.weight"] = (config.hidden,)
    if not config.tied:
        found["lm_head.weight"] = (config.vocabulary, config.hidden)
    return found


def span(name: str, config: ModelConfig, degree: int, rank: int) -> Tuple[int, int]:
    """Start and length of a rank's slice along `dimension(name)`; for whole weights, of dimension 0."""
    size = shapes(config)[name][dimension(name) or 0]
    count = pieces(name, config, degree)
    length = size // count
    return (rank * count // degree) * length, length


def cut(name: str, whole: Any, config: ModelConfig, degree: int, rank: int) -> Any:
    """A rank's slice of a whole tensor, contiguous."""
    along = dimension(name)
    if along is None or degree == 1:
        return whole.contiguous()
    start, length = span(name, config, degree, rank)
    return whole.narrow(along, start, length).contiguous()


def join(name: str, slices: Sequence[Any], config: ModelConfig) -> Any:
    """The whole tensor of all ranks' slices, in the order of ranks."""
    along = dimension(name)
    if along is None or len(slices) == 1:
        return slices[0]
    torch: Any = import_module("torch")
    return torch.cat(list(slices[:: copies(name, config, len(slices))]), dim=along)


def misfits(config: ModelConfig, degree: int) -> List[str]:
    """Messages why a model cannot be sliced over `degree` ranks; empty when it can."""
    found: List[str] = []
    for what, size in (
        ("attention heads", config.heads),
        ("feed-forward columns (intermediate_size)", config.intermediate),
        ("vocabulary entries", config.vocabulary),
    ):
        if size % degree:
            found.append(f"tensor parallel {degree} does not divide the model's {size} {what}")
    if config.kv_heads % degree and degree % config.kv_heads:
        found.append(
            f"tensor parallel {degree} is neither a divisor nor a multiple of the model's {config.kv_heads} "
            "key-value heads"
        )
    return found
