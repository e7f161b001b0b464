"""LlamaForCausalLM: same results and names of weights as in transformers, built from a backend's layers."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.layers import Layers
from llm_fleet_training.model.rope import turn, turns


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of (batch, heads, length, head size), unless the layers define `attend`."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class Attention(nn.Module):
    """Causal, with fewer heads of keys and values than of queries if the model has grouped-query attention."""

    def __init__(self, config: ModelConfig, layers: Layers) -> None:
        """A rank has its share of the heads."""
        super().__init__()
        self.attend = getattr(layers, "attend", causal)
        self.head_size = config.head_size
        self.heads = config.heads // layers.degree
        self.kv_heads = max(1, config.kv_heads // layers.degree)
        self.q_proj = layers.column(config.hidden, config.heads * config.head_size)
        self.k_proj = layers.keys(config.hidden, config.kv_heads, config.head_size)
        self.v_proj = layers.keys(config.hidden, config.kv_heads, config.head_size)
        self.o_proj = layers.row(config.heads * config.head_size, config.hidden)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        """(batch, length, hidden) in and out."""
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.head_size).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head_size).transpose(1, 2)
        q, k = turn(q, cosine, sine), turn(k, cosine, sine)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        seen = self.attend(q, k, v)
        return self.o_proj(seen.transpose(1, 2).reshape(batch, length, self.heads * self.head_size))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, config: ModelConfig, layers: Layers) -> None:
        """A rank has its share of the intermediate columns."""
        super().__init__()
        self.gate_proj = layers.column(config.hidden, config.intermediate)
        self.up_proj = layers.column(config.hidden, config.intermediate)
        self.down_proj = layers.row(config.intermediate, config.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, hidden) in and out."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and feed-forward, each after its norm and added to the residual."""

    def __init__(self, config: ModelConfig, layers: Layers, recompute: str) -> None:
        """One of `config.layers`."""
        super().__init__()
        self.recompute = recompute
        self.self_attn = Attention(config, layers)
        self.mlp = FeedForward(config, layers)
        self.input_layernorm = layers.norm(config.hidden, config.epsilon)
        self.post_attention_layernorm = layers.norm(config.hidden, config.epsilon)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        """(batch, length, hidden) in and out."""
        if self.recompute == "full" and torch.is_grad_enabled():
            return checkpoint(self._forward, x, cosine, sine, use_reentrant=False)
        return self._forward(x, cosine, sine)

    def _forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self._attend(self.input_layernorm(x), cosine, sine)
        return x + self.mlp(self.post_attention_layernorm(x))

    def _attend(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        if self.recompute == "selective" and torch.is_grad_enabled():
            return checkpoint(self.self_attn, x, cosine, sine, use_reentrant=False)
        return self.self_attn(x, cosine, sine)


class Trunk(nn.Module):
    """The model without its head."""

    def __init__(self, config: ModelConfig, layers: Layers, recompute: str) -> None:
        """As `Llama`."""
        super().__init__()
        self.config = config
        self.embed_tokens = layers.embedding(config.vocabulary, config.hidden)
        self.layers = nn.ModuleList(Layer(config, layers, recompute) for _ in range(config.layers))
        self.norm = layers.norm(config.hidden, config.epsilon)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Ids of shape (batch, length) in, (batch, length, hidden) out."""
        x = self.embed_tokens(tokens)
        cosine, sine = turns(self.config, tokens.shape[1], x)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.norm(x)


class Llama(nn.Module):
    """`model.…` and `lm_head.weight`, as transformers names them."""

    def __init__(self, config: ModelConfig, layers: Layers, *, recompute: str = "none") -> None:
        """Weights are not initialized: `model/initial.py` or a checkpoint sets them.

        `recompute` is activation checkpointing: `none`, of attention only (`selective`), of whole layers (`full`).
        """
        super().__init__()
        self.make = layers
        self.model = Trunk(config, layers, recompute)
        self.lm_head = layers.column(config.hidden, config.vocabulary)
        if config.tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, tokens: torch.Tensor, targets: Optional[torch.Tensor] = None) -> Any:
        """The mean loss when `targets` (shape of `tokens`) are given, else logits, sliced as `lm_head` is."""
        logits = self.lm_head(self.model(tokens))
        return logits if targets is None else self.make.loss(logits, targets)
