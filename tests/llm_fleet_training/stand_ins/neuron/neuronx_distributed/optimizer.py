"""ZeRO-1: each replica has a share of every parameter's master copy and moments."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
import copy
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
from torch import nn

from neuronx_distributed.parallel_layers.mappings import summed
from neuronx_distributed.parallel_layers.parallel_state import get_tensor_model_parallel_size
from tests.llm_fleet_training.documented import documented


class NeuronZero1Optimizer(torch.optim.Optimizer):
    @documented("neuronx_distributed.optimizer.NeuronZero1Optimizer")
    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        optimizer_dtype: Any = None,
        grad_clipping: bool = True,
        max_norm: float | None = None,
        pin_layout: bool = True,
        sharding_groups: Any = None,
        grad_norm_groups: Any = None,
        use_grad_acc_hook: bool = False,
        save_master_weights: bool = False,
        higher_cc_precision: bool = False,
        bucket_cap_mb_all_gather: int = 0,
        bucket_cap_mb_reduce_scatter: int = 0,
        **defaults: Any,
    ) -> None:
        super().__init__(params, defaults)
        self.optimizer_class, self.defaults = optimizer_class, defaults
        self.optimizer_dtype = optimizer_dtype or torch.float32
        self.grad_clipping = grad_clipping
        self.max_norm = 1.0 if max_norm is None else max_norm
        self.sharding_groups = sharding_groups
        self.save_master_weights = save_master_weights
        assert use_grad_acc_hook, "gradients are summed in float32"
        assert higher_cc_precision, "gradients are reduced in float32"
        self.grad_norm: Any = None
        self.init_zero()

    def init_zero(self) -> None:
        row = next(row for row in self.sharding_groups if dist.get_rank() in row)
        self.size, self.place = len(row), row.index(dist.get_rank())
        groups = []
        for group in self.param_groups:
            shards = [nn.Parameter(self._shard(p.data).to(self.optimizer_dtype)) for p in group["params"]]
            groups.append({**group, "params": shards})
        self.base_optimizer = self.optimizer_class(groups, **self.defaults)
        self._hook()

    def _hook(self) -> None:
        for handle in getattr(self, "handles", []):
            handle.remove()
        self.handles = []
        for p, shard in self._pairs():
            shard.main_grad = torch.zeros(p.shape, dtype=self.optimizer_dtype)

            def take(parameter: Any, shard: Any = shard) -> None:
                shard.main_grad.add_(parameter.grad.to(self.optimizer_dtype))
                parameter.grad = None

            self.handles.append(p.register_post_accumulate_grad_hook(take))

    def _pairs(self) -> Any:
        for group, own in zip(self.param_groups, self.base_optimizer.param_groups, strict=True):
            yield from zip(group["params"], own["params"], strict=True)

    def _shard(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._padded(tensor).chunk(self.size)[self.place].clone()

    def _padded(self, tensor: torch.Tensor) -> torch.Tensor:
        more = -tensor.size(0) % self.size
        return F.pad(tensor, [0, 0] * (tensor.dim() - 1) + [0, more])

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group, own in zip(self.param_groups, self.base_optimizer.param_groups, strict=True):
            own.update({name: value for name, value in group.items() if name != "params"})
        for p, shard in self._pairs():
            whole = xm.all_reduce(xm.REDUCE_SUM, self._padded(shard.main_grad), groups=self.sharding_groups)
            shard.grad = (whole / self.size).chunk(self.size)[self.place].clone()
            shard.sliced = getattr(p, "tensor_model_parallel", False)
        if self.grad_clipping:
            self._clip()
        self.base_optimizer.step()
        for p, shard in self._pairs():
            shard.grad = None
            p.data.copy_(xm.all_gather(shard.data.to(p.dtype), groups=self.sharding_groups)[: p.size(0)])

    def _clip(self) -> None:
        """Whole weights are counted on every rank and divided by the number of ranks, as NxD's `force_spmd` does."""
        total = torch.zeros(1)
        for _, shard in self._pairs():
            total += shard.grad.pow(2).sum() / (1 if shard.sliced else get_tensor_model_parallel_size())
        total = summed(total)
        self.grad_norm = xm.all_reduce(xm.REDUCE_SUM, total, groups=self.sharding_groups).sqrt()
        for _, shard in self._pairs():
            shard.grad.mul_(torch.clamp(self.max_norm / (self.grad_norm + 1e-6), max=1.0))

    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none=set_to_none)
        for _, shard in self._pairs():
            shard.main_grad.zero_()

    def state_dict(self) -> Any:
        words = super().state_dict()
        words["base_state"] = self.base_optimizer.state_dict()["state"]
        words["shape_info"] = {place: p.shape for place, (p, _) in enumerate(self._pairs())}
        if self.save_master_weights:
            words["sharded_master_weights"] = {place: shard.data for place, (_, shard) in enumerate(self._pairs())}
        return words

    def load_state_dict(self, state_dict: Any) -> None:
        words = copy.deepcopy(state_dict)
        base = words.pop("base_state")
        masters = words.pop("sharded_master_weights", {})
        words.pop("shape_info")
        super().load_state_dict(words)
        self.init_zero()
        own = self.base_optimizer.state_dict()
        own["state"] = base
        self.base_optimizer.load_state_dict(own)
        for place, (_, shard) in enumerate(self._pairs()):
            if place in masters:
                shard.data.copy_(masters[place])
