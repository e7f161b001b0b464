"""AdamW in float32, one weight after the other: the same as `torch.optim.AdamW`, without importing its compiler.

Making an optimizer of torch 2.13 imports torch._dynamo, which takes longer (1.2 s) than this backend's whole start.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import math
from typing import Any, Dict, Mapping

import torch

from llm_fleet_training.model.sharding import dimension
from llm_fleet_training.settings import Settings


class AdamW:
    """Decoupled weight decay (Loshchilov and Hutter, 2019), of matrices only."""

    def __init__(self, parameters: Mapping[str, Any], settings: Settings) -> None:
        """Moments begin at zero."""
        self._parameters = {name: parameters[name] for name in sorted(parameters)}
        self._settings = settings
        self.steps = 0
        self.first = {name: torch.zeros_like(one, requires_grad=False) for name, one in self._parameters.items()}
        self.second = {name: torch.zeros_like(one, requires_grad=False) for name, one in self._parameters.items()}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients, and clear them."""
        self.steps += 1
        chosen = self._settings
        down1, down2 = 1 - chosen.beta1**self.steps, 1 - chosen.beta2**self.steps
        for name, parameter in self._parameters.items():
            first, second = self.first[name], self.second[name]
            if dimension(name) is not None:
                parameter.mul_(1 - learning_rate * chosen.weight_decay)
            first.lerp_(parameter.grad, 1 - chosen.beta1)
            second.mul_(chosen.beta2).addcmul_(parameter.grad, parameter.grad, value=1 - chosen.beta2)
            wide = (second.sqrt() / math.sqrt(down2)).add_(chosen.adam_epsilon)
            parameter.addcdiv_(first, wide, value=-learning_rate / down1)
            parameter.grad = None

    def state(self) -> Dict[str, Any]:
        """The state that a checkpoint saves."""
        return {"steps": self.steps, "first": self.first, "second": self.second}

    def take(self, state: Mapping[str, Any]) -> None:
        """Load the result of `state`."""
        self.steps = int(state["steps"])
        for own, stored in ((self.first, state["first"]), (self.second, state["second"])):
            for name, tensor in own.items():
                tensor.copy_(stored[name])
