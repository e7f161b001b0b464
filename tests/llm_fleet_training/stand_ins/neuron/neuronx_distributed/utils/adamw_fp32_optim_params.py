"""NxD's AdamW: decay after the step, bias correction in the step's size."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
import math
from typing import Any

import torch

from tests.llm_fleet_training.documented import documented


class AdamW_FP32OptimParams(torch.optim.Optimizer):
    @documented("neuronx_distributed.utils.adamw_fp32_optim_params.AdamW_FP32OptimParams")
    def __init__(self, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-6, **options: Any):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0, **options})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=torch.zeros_like(p.grad), exp_avg_sq=torch.zeros_like(p.grad))
                one, two = group["betas"]
                state["step"] += 1
                state["exp_avg"].mul_(one).add_(p.grad, alpha=1 - one)
                state["exp_avg_sq"].mul_(two).addcmul_(p.grad, p.grad, value=1 - two)
                size = group["lr"] * math.sqrt(1 - two ** state["step"]) / (1 - one ** state["step"])
                p.data.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]), value=-size)
                if group["weight_decay"] > 0:
                    p.data.add_(p.data, alpha=-group["lr"] * group["weight_decay"])
