"""Stand-ins of torch.sagemaker and of FSDP for one process without GPUs; undocumented calls are rejected.

They compute what the documents say with one process: nothing is sharded, transformed or offloaded.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
import contextlib
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tests.llm_fleet_training.documented import documented

_CHECKPOINT = "torch.sagemaker.distributed.checkpoint"
STATE = SimpleNamespace(
    tp_rank=0, cp_rank=0, ranker=SimpleNamespace(get_rep_rank=lambda rank: 0), sm_activation_offloading=True
)


class TransformerLayer(nn.Module):
    """The library's version of a decoder layer."""


class Fsdp(nn.Module):
    """Keeps the module as it is."""

    @documented("torch.distributed.fsdp.FullyShardedDataParallel")
    def __init__(self, module: nn.Module, **options: Any) -> None:
        super().__init__()
        self._fsdp_wrapped_module = module
        self.process_group = dist.group.WORLD

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module.state_dict(*args, **kwargs)

    def load_state_dict(self, words: Any, strict: bool = True, assign: bool = False) -> Any:
        return self._fsdp_wrapped_module.load_state_dict(words)

    def clip_grad_norm_(self, max_norm: float) -> torch.Tensor:
        return nn.utils.clip_grad_norm_(self.parameters(), max_norm)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module: nn.Module, kind: Any, config: Any = None) -> Any:
        assert isinstance(module, Fsdp)
        yield

    @staticmethod
    @documented("torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict")
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> Any:
        return optim.state_dict()

    @staticmethod
    @documented("torch.distributed.fsdp.FullyShardedDataParallel.optim_state_dict_to_load")
    def optim_state_dict_to_load(model: Any, optim: Any, optim_state_dict: Any, **options: Any) -> Any:
        return optim_state_dict


@documented("torch.sagemaker.init")
def init(config: Any = None) -> None:
    pass


@documented("torch.sagemaker.transform")
def transform(model: nn.Module, **options: Any) -> nn.Module:
    return model


class DelayedParamIniter:
    @documented("torch.sagemaker.delayed_param.DelayedParamIniter")
    def __init__(self, model: nn.Module, init_method_using_config: Any = None, verbose: bool = False) -> None:
        assert all(one.is_meta for one in model.parameters()), "only a model without memory is initialized late"

    def get_param_init_fn(self) -> Any:
        return "initializes"

    @contextlib.contextmanager
    def validate_params_and_buffers_inited(self, enabled: bool = True) -> Any:
        yield


@documented(f"{_CHECKPOINT}.state_dict_saver.save")
def save(state_dict: Any, **options: Any) -> None:
    folder = Path(options["checkpoint_id"])
    torch.save(state_dict, folder / "__0_0.distcp")
    (folder / ".metadata").write_text("what is where")


class DistributedFileSystemReader:
    @documented(f"{_CHECKPOINT}.filesystem.DistributedFileSystemReader")
    def __init__(self, path: str) -> None:
        self.words = torch.load(Path(path) / "__0_0.distcp", weights_only=True)


@documented(f"{_CHECKPOINT}.state_dict_loader.load")
def load(state_dict: Any, **options: Any) -> None:
    for name, tensor in options["storage_reader"].words["model"].items():
        state_dict["model"][name].copy_(tensor)


@documented("torch.distributed.checkpoint.optimizer.load_sharded_optimizer_state_dict")
def load_sharded_optimizer_state_dict(
    model_state_dict: Any, optimizer_key: str, storage_reader: Any, planner: Any = None, process_group: Any = None
) -> Any:
    return {optimizer_key: storage_reader.words[optimizer_key]}


@documented("torch.sagemaker.utils.process_group_utils.get_global_ranks")
def get_global_ranks(process_group: Any = None) -> list[int]:
    return [0]


@documented("torch.sagemaker.grad_norm.clip_grad_norm_")
def clip_grad_norm_(model: nn.Module, max_norm: float) -> torch.Tensor:
    return nn.utils.clip_grad_norm_(model.parameters(), max_norm)


@contextlib.contextmanager
def init_empty_weights() -> Any:
    """Like accelerate's function, for parameters and buffers."""
    with torch.device("meta"):
        yield


def install(monkeypatch: Any) -> None:
    """Install the stand-ins as modules."""
    places = {
        "torch.sagemaker": {"init": init, "transform": transform, "state": STATE},
        "torch.sagemaker.delayed_param": {"DelayedParamIniter": DelayedParamIniter},
        "torch.sagemaker.grad_norm": {"clip_grad_norm_": clip_grad_norm_},
        "torch.sagemaker.utils": {},
        "torch.sagemaker.utils.process_group_utils": {"get_global_ranks": get_global_ranks},
        "torch.sagemaker.tensor_parallel": {},
        "torch.sagemaker.tensor_parallel.transformer": {"TransformerLayer": TransformerLayer},
        "torch.sagemaker.distributed": {},
        _CHECKPOINT: {},
        f"{_CHECKPOINT}.state_dict_saver": {"save": save},
        f"{_CHECKPOINT}.state_dict_loader": {"load": load},
        f"{_CHECKPOINT}.filesystem": {"DistributedFileSystemReader": DistributedFileSystemReader},
        "accelerate": {"init_empty_weights": init_empty_weights},
    }
    for name, words in places.items():
        module = ModuleType(name)
        module.__dict__.update(words, __spec__=ModuleSpec(name, None))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(torch, "sagemaker", sys.modules["torch.sagemaker"], raising=False)
    import torch.distributed.checkpoint.optimizer as moments

    monkeypatch.setattr(moments, "load_sharded_optimizer_state_dict", load_sharded_optimizer_state_dict)
