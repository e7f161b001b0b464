"""Weight decay: applies to matrices, not to norms, as in Llama's training."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any, Dict, List, Mapping

from llm_fleet_training.model.sharding import dimension


def decay_groups(parameters: Mapping[str, Any], weight_decay: float) -> List[Dict[str, Any]]:
    """Two groups of parameters for AdamW, each in order of name, so that the order of its state is always the same."""
    names = sorted(parameters)
    return [
        {"params": [parameters[name] for name in names if dimension(name) is not None], "weight_decay": weight_decay},
        {"params": [parameters[name] for name in names if dimension(name) is None], "weight_decay": 0.0},
    ]
