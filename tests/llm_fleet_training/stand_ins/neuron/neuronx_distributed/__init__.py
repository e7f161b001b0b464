"""A stand-in of NxD Core's trainer: configuration, model, optimizer."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper

from neuronx_distributed.optimizer import NeuronZero1Optimizer
from neuronx_distributed.parallel_layers import parallel_state
from tests.llm_fleet_training.documented import documented


@documented("neuronx_distributed.neuronx_distributed_config")
def neuronx_distributed_config(**reported: Any) -> dict[str, Any]:
    assert set(reported["optimizer_config"]) == {"zero_one_enabled", "grad_clipping", "max_grad_norm"}
    precision = {"use_master_weights", "use_fp32_grad_acc", "use_master_weights_in_ckpt"}
    assert set(reported["mixed_precision_config"]) == precision
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=reported["tensor_parallel_size"], lnc_size=reported.get("lnc_size", 1)
    )
    return reported


class NxDModel(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        yield from self.module.named_parameters(*args, **kwargs)


@documented("neuronx_distributed.initialize_parallel_model")
def initialize_parallel_model(
    nxd_config: Any, model_fn: Any, include_buffers: bool = False, **options: Any
) -> NxDModel:
    model = model_fn(**options)
    kind = nxd_config["activation_checkpoint_config"]
    if kind is not None:
        assert kind != "full", "only for models of transformers"
        assert issubclass(kind, nn.Module)
        for name, module in list(model.named_modules()):
            if isinstance(module, kind):
                above, _, last = name.rpartition(".")
                setattr(model.get_submodule(above), last, CheckpointWrapper(module))
    return NxDModel(model)


class NxDOptimizer(torch.optim.Optimizer):
    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    @property
    def grad_norm(self) -> Any:
        return self.optimizer.grad_norm

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    def state_dict(self) -> Any:
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict: Any) -> None:
        self.optimizer.load_state_dict(state_dict)

    def zero_grad(self, set_to_none: bool = False) -> None:
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def step(self, closure: Any = None) -> None:
        self.optimizer.step(closure=closure)


@documented("neuronx_distributed.initialize_parallel_optimizer")
def initialize_parallel_optimizer(nxd_config: Any, optimizer_class: Any, parameters: Any, **defaults: Any) -> Any:
    assert nxd_config["optimizer_config"]["zero_one_enabled"]
    return NxDOptimizer(
        NeuronZero1Optimizer(
            parameters,
            optimizer_class,
            grad_clipping=nxd_config["optimizer_config"]["grad_clipping"],
            pin_layout=False,
            sharding_groups=parallel_state.get_data_parallel_replica_groups(),
            grad_norm_groups=parallel_state.get_tensor_model_parallel_replica_groups(),
            use_grad_acc_hook=nxd_config["mixed_precision_config"]["use_fp32_grad_acc"],
            higher_cc_precision=nxd_config["mixed_precision_config"]["use_fp32_grad_acc"],
            save_master_weights=nxd_config["mixed_precision_config"]["use_master_weights_in_ckpt"],
            **defaults,
        )
    )
