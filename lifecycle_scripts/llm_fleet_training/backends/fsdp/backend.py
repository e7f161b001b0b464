"""The fsdp backend: on GPUs over NCCL, 16-bit compute with float32 weights; without GPUs on CPUs over gloo."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Sequence

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from llm_fleet_training import degrees
from llm_fleet_training.backends import processes
from llm_fleet_training.backends.fsdp import distributed_checkpoint
from llm_fleet_training.backends.words import Words
from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model import hashing
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.groups import decay_groups
from llm_fleet_training.model.initial import initial
from llm_fleet_training.model.layers import WholeLayers
from llm_fleet_training.model.llama import Llama
from llm_fleet_training.model.pretrained import Pretrained
from llm_fleet_training.model.sharding import shapes
from llm_fleet_training.settings import Settings


class FsdpBackend:
    """See `Backend`. Gradients are averaged over all processes in the backward pass, by FSDP."""

    name = "fsdp"
    layout = "distributed-checkpoint"

    def __init__(self, settings: Settings, config: ModelConfig) -> None:
        """The backend is not started."""
        self.settings = settings
        self.config = config
        self.rank, self.world = processes.place()
        self.degrees = degrees.spread(world=self.world, tensor=1, shard=settings.shard_degree)
        self.shard = settings.shard_degree or self.world

    @property
    def is_main(self) -> bool:
        """Rank 0."""
        return self.rank == 0

    @property
    def data_rank(self) -> int:
        """Every process reads its own samples."""
        return self.rank

    def start(self) -> None:
        """Use NCCL for tensors on GPUs, gloo for tensors on the host."""
        torch.manual_seed(self.settings.seed)
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            self.device = torch.device("cuda", torch.cuda.current_device())
            processes.join("cpu:gloo,cuda:nccl")
        else:
            self._without_gpu()
        self._words = Words(self.rank, self.world)
        replicas = self.world // self.shard
        self.mesh = (
            init_device_mesh(self.device.type, (self.shard,), mesh_dim_names=("shard",))
            if replicas == 1
            else init_device_mesh(self.device.type, (replicas, self.shard), mesh_dim_names=("replicate", "shard"))
        )

    def _without_gpu(self) -> None:
        if os.environ.get("LLM_FLEET_ACCELERATOR") == "gpu":
            fail(Code.BACKEND, f"{os.uname().nodename} is a GPU node, but torch {torch.__version__} sees no GPU here")
        torch.set_num_threads(1)
        torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms imports the compiler.

        self.device = torch.device("cpu")
        processes.join("gloo")

    def build(self) -> None:
        """Builds the model on the meta device; then each process fills its shards, one weight at a time."""
        with torch.device("meta"):
            self.model = Llama(self.config, WholeLayers(), recompute=self.settings.activation_checkpointing)
        on_gpu = self.device.type == "cuda" and self.settings.precision == "mixed"
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if on_gpu else None
        options: Dict[str, Any] = {"mesh": self.mesh, **({"mp_policy": policy} if policy else {})}
        for layer in self.model.model.layers:
            fully_shard(layer, **options)
        fully_shard(self.model, **options)
        self.model.to_empty(device=self.device)
        if self.config.tied:
            self.model.lm_head.weight = self.model.model.embed_tokens.weight
        self.parameters: Dict[str, Any] = dict(self.model.named_parameters())
        for name in shapes(self.config):
            self._put(name, initial(name, self.config, self.settings.seed))
        self.optimizer = torch.optim.AdamW(
            decay_groups(self.parameters, self.settings.weight_decay),
            lr=self.settings.learning_rate,
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.adam_epsilon,
        )

    def load_weights(self, folder: Path) -> None:
        """Each process reads each weight, and keeps its shard."""
        stored = Pretrained(folder, self.config)
        for name in shapes(self.config):
            self._put(name, stored.slice(name, 1, 0))

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> torch.Tensor:
        """The loss stays on the device."""
        ids = torch.tensor(samples, dtype=torch.int64).to(self.device)
        loss = self.model(ids[:, :-1], ids[:, 1:])
        (loss * share).backward()
        return loss.detach()

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """Over all processes."""
        own = torch.stack(list(losses)).mean().reshape(1)
        dist.all_reduce(own)
        return float(own.item()) / self.world

    def reduce_and_clip(self, limit: float) -> float:
        """FSDP has reduced the gradients; the norm is over all shards."""
        bound = limit if limit > 0 else float("inf")
        norm: Any = torch.nn.utils.clip_grad_norm_(self.model.parameters(), bound)
        return float((norm.full_tensor() if isinstance(norm, DTensor) else norm).item())

    def step(self, learning_rate: float) -> None:
        """AdamW on float32 shards."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def checkpoint_bytes(self) -> int:
        """Bytes of weights and two moments; replicas share the writing."""
        own = sum(one.to_local().numel() for one in self.parameters.values())
        return 12 * own * self.shard // self.world

    def save(self, part: Part) -> None:
        """Every process writes its shards."""
        distributed_checkpoint.save(self.model, self.optimizer, part, self.rank)

    def load(self, folder: Path) -> None:
        """Load the files of `save`."""
        distributed_checkpoint.load(self.model, self.optimizer, folder)

    def parameters_sha256(self) -> str:
        """Gathers one weight at a time."""
        return hashing.parameters_sha256(self.parameters, lambda name: self.parameters[name].full_tensor())

    def exchange(self, text: str) -> List[str]:
        """Over the host's network.

        Not over gloo, which times out after half an hour: others wait here while the first process fetches a checkpoint
        from its mirror.
        """
        return self._words.exchange(text)

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()

    def _put(self, name: str, whole: torch.Tensor) -> None:
        """Every process has the same whole tensor: none is sent."""
        target = self.parameters[name]
        wide = whole.to(self.device, torch.float32)
        with torch.no_grad():
            target.copy_(distribute_tensor(wide, target.device_mesh, target.placements, src_data_rank=None))
