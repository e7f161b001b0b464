"""The smp backend: trains a Llama with SMP v2 on GPUs as AWS documents it.

API: SageMaker AI Developer Guide, model-parallel-use-api-v2, model-parallel-core-features-v2-*,
distributed-model-parallel-v2-reference; what these leave out (clipping, contexts, the class of a transformed layer)
follows AWS's adapter for NeMo (sagemaker-hyperpod-training-adapter-for-nemo). Which parts run on CPUs
only is listed in docs/training/smp.md.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import functools
import os
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict, List, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

from llm_fleet_training import degrees
from llm_fleet_training.backends import processes
from llm_fleet_training.backends.fsdp import distributed_checkpoint
from llm_fleet_training.backends.smp import checkpoint
from llm_fleet_training.backends.smp.collectives import collectives
from llm_fleet_training.backends.words import Words
from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model import hashing
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.initial import initial
from llm_fleet_training.model.pretrained import Pretrained
from llm_fleet_training.model.sharding import shapes
from llm_fleet_training.settings import Settings

_STRATEGIES = {0: None, 1: ShardingStrategy.NO_SHARD}
"""Sharding strategy by shard degree; others use the library's hybrid sharding. `None` is PyTorch's full sharding."""
_WRAPPED = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


class SmpBackend:
    """See `Backend`. A sample's last token is not a target: transformers shifts labels within the input."""

    name = "smp"
    layout = "distributed-checkpoint"

    def __init__(self, settings: Settings, config: ModelConfig, library: Dict[str, Any]) -> None:
        """The backend is not started; `library` is the configuration of SMP."""
        self.settings = settings
        self.config = config
        self.library = library
        self.rank, self.world = processes.place()
        self.degrees = degrees.spread(
            world=self.world,
            tensor=settings.tensor_parallel,
            context=settings.context_parallel,
            shard=settings.shard_degree,
        )
        self.transformed = settings.tensor_parallel > 1 or settings.context_parallel > 1

    @property
    def is_main(self) -> bool:
        """Rank 0."""
        return self.rank == 0

    @property
    def data_rank(self) -> int:
        """Ranks of a tensor- or context-parallel group read the same samples."""
        return self.rank // (self.degrees.tensor * self.degrees.context)

    def start(self) -> None:
        """Start the process group first, then the library, as AWS documents it."""
        if find_spec("torch.sagemaker") is None:
            fail(Code.SMP_STACK, f"torch {torch.__version__} of this Python has no torch.sagemaker")
        if not torch.cuda.is_available():
            fail(Code.BACKEND, f"SMP v2 runs on GPUs, and this process finds none on {os.uname().nodename}")
        torch.manual_seed(self.settings.seed)
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        self.device = torch.device("cuda", torch.cuda.current_device())
        processes.join(collectives())
        self._words = Words(self.rank, self.world)
        import torch.sagemaker as tsm

        tsm.init(self.library)
        self.state = tsm.state

    def build(self) -> None:
        """The first process loads the weights; FSDP sends them to the others, whose models are on the meta device."""
        model = self._on_host()
        layer = _layer_class(self.transformed)
        initer = None
        if self.transformed:
            from torch.sagemaker import transform

            model = transform(model, load_state_dict_from_rank0=True)
        if not self.is_main:
            from torch.sagemaker.delayed_param import DelayedParamIniter

            initer = DelayedParamIniter(model)
        whole = {name for name, one in model.named_parameters() if one.dim() < 2}
        with initer.validate_params_and_buffers_inited() if initer else nullcontext():
            self.fsdp = FSDP(
                model,
                auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={layer}),
                mixed_precision=self._precision(),
                sharding_strategy=_STRATEGIES.get(self.settings.shard_degree, ShardingStrategy.HYBRID_SHARD),
                device_id=self.device,
                use_orig_params=True,
                limit_all_gathers=True,
                sync_module_states=True,
                param_init_fn=initer.get_param_init_fn() if initer else None,
            )
        self.model = self._with_activations(layer)
        self.optimizer = torch.optim.AdamW(
            _decay_groups(self.fsdp, whole, self.settings.weight_decay),
            lr=self.settings.learning_rate,
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.adam_epsilon,
        )

    def _on_host(self) -> nn.Module:
        from accelerate import init_empty_weights
        from transformers import AutoConfig, AutoModelForCausalLM

        config = AutoConfig.from_pretrained(str(self.settings.model))
        config.use_cache = False
        if not self.is_main:
            with init_empty_weights():
                return AutoModelForCausalLM.from_config(config)
        model = AutoModelForCausalLM.from_config(config)
        parameters = dict(model.named_parameters())
        stored = Pretrained(self.settings.from_weights, self.config) if self.settings.from_weights else None
        with torch.no_grad():
            for name in shapes(self.config):
                first = stored.slice(name, 1, 0) if stored else initial(name, self.config, self.settings.seed)
                parameters[name].copy_(first)
        return model

    def _precision(self) -> Any:
        if self.settings.precision != "mixed":
            return None
        wide = torch.float32  # Type of buffers, too: rotary positions of a transformed model have it.
        return MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=wide, buffer_dtype=wide)

    def _with_activations(self, layer: Any) -> nn.Module:
        """Add activation checkpointing, and offloading to host memory if it is set."""
        if self.settings.activation_checkpointing == "none":
            return self.fsdp
        # FlashAttention 2 and the library's offloading work only with this implementation.
        wrapper = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT)
        apply_activation_checkpointing(
            self.fsdp, checkpoint_wrapper_fn=wrapper, check_fn=lambda module: isinstance(module, layer)
        )
        return offload_wrapper(self.fsdp) if self.library.get("sm_activation_offloading") else self.fsdp

    def load_weights(self, folder: Path) -> None:
        """The weights were loaded when the model was built, before the library transformed and sharded it."""
        if self.settings.from_weights is None or Path(folder) != Path(self.settings.from_weights):
            raise ValueError(f"{folder} is not the folder that the model was built from")

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> torch.Tensor:
        """The loss stays on the device."""
        ids = torch.tensor(samples, dtype=torch.int64).to(self.device)[:, :-1]
        if self.degrees.context > 1:
            ids = own_part(ids, self.state.cp_rank, self.degrees.context)
        loss = self.model(input_ids=ids, attention_mask=None, labels=ids)["loss"]
        (loss * share).backward()
        return loss.detach()

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """The mean over all processes; ranks of a tensor-parallel group have the same loss."""
        own = torch.stack(list(losses)).mean().reshape(1)
        dist.all_reduce(own)
        return float(own.item()) / self.world

    def reduce_and_clip(self, limit: float) -> float:
        """Clip the norm of the gradients, which FSDP has reduced already.

        A model that the library transformed must use the library's `clip_grad_norm_`, not FSDP's.
        """
        bound = limit if limit > 0 else float("inf")
        if not self.transformed:
            return float(self.fsdp.clip_grad_norm_(bound))
        from torch.sagemaker.grad_norm import clip_grad_norm_

        return float(clip_grad_norm_(self.fsdp, bound))

    def step(self, learning_rate: float) -> None:
        """AdamW on float32 shards."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def checkpoint_bytes(self) -> int:
        """Bytes of weights and two moments, spread over the processes; weights of a transformed model count twice."""
        again = 4 * self.config.parameters if self.transformed and self.is_main else 0
        return 12 * self.config.parameters // self.world + again

    def save(self, part: Part) -> None:
        """See `checkpoint`."""
        if self.transformed:
            checkpoint.save(self.fsdp, self.optimizer, part, self.state, self.exchange)
        else:
            distributed_checkpoint.save(self.fsdp, self.optimizer, part, self.rank)

    def load(self, folder: Path) -> None:
        """Load the files of `save`."""
        if self.transformed:
            checkpoint.load(self.fsdp, self.optimizer, folder, self.state)
        else:
            distributed_checkpoint.load(self.fsdp, self.optimizer, folder)

    def parameters_sha256(self) -> str:
        """Digest of the whole model, by Hugging Face's names, computed on the first process."""
        found = hashing.ParametersHash()
        weights = checkpoint.whole_weights(self.fsdp)
        if self.is_main:
            for name in sorted(shapes(self.config)):
                found.add(name, weights[name])
        return self.exchange(found.hexdigest())[0]

    def exchange(self, text: str) -> List[str]:
        """Over the host's network."""
        return self._words.exchange(text)

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()


def own_part(ids: torch.Tensor, rank: int, degree: int) -> torch.Tensor:
    """Two of `2 * degree` parts of each sequence for a context-parallel rank: one from the front, one from the back.

    So every rank computes as much causal attention as the others; Transformer Engine expects this order.
    """
    parts = ids.chunk(2 * degree, dim=1)
    return torch.cat((parts[rank], parts[2 * degree - rank - 1]), dim=1)


def _layer_class(transformed: bool) -> Any:
    if transformed:
        from torch.sagemaker.tensor_parallel.transformer import TransformerLayer

        return TransformerLayer
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    return LlamaDecoderLayer


def _decay_groups(model: nn.Module, whole: "set[str]", weight_decay: float) -> List[Dict[str, Any]]:
    """Matrices decay. FSDP flattens all of them, so `whole`, the names of other parameters, separates the two."""
    named = {_plain(name): one for name, one in model.named_parameters()}
    names = sorted(named)
    return [
        {"params": [named[name] for name in names if name not in whole], "weight_decay": weight_decay},
        {"params": [named[name] for name in names if name in whole], "weight_decay": 0.0},
    ]


def _plain(name: str) -> str:
    for wrapped in _WRAPPED:
        name = name.replace(wrapped, "")
    return name
