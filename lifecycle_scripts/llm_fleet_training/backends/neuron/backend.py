"""The neuron backend: trains a Llama on Trainium like AWS's `tp_zero1` examples, with our model and checkpoints.

API: neuronx_distributed 0.8 to 0.16 (`trainer/trainer.py`, `parallel_layers/`), with its example
`tp_zero1_llama_hf_pretrain`, and torch_xla's `ZeroRedundancyOptimizer`; 0.17 (SDK 2.28)
to 0.19 have the same API: assumption: nxd-api-unchanged-from-017. docs/training/neuron.md lists what needs a test on
a device.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Dict, List, Sequence

import torch
from torch import nn

from llm_fleet_training import degrees
from llm_fleet_training.backends import processes
from llm_fleet_training.backends.neuron import stack
from llm_fleet_training.backends.neuron.layers import NxdLayers, data_groups, tensor_groups
from llm_fleet_training.backends.words import Words
from llm_fleet_training.checkpoints import safetensors_stream
from llm_fleet_training.checkpoints.part import Part
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model import hashing
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.model.groups import decay_groups
from llm_fleet_training.model.initial import initial
from llm_fleet_training.model.llama import Attention, Layer, Llama
from llm_fleet_training.model.pretrained import Pretrained
from llm_fleet_training.model.sharding import cut, join, pieces, shapes
from llm_fleet_training.settings import Settings

_RECOMPUTED = {"none": None, "selective": Attention, "full": Layer}
"""The modules whose activations the backward pass recomputes, by the setting."""


class NeuronBackend:
    """See `Backend`. NxD's optimizer reduces, clips and steps in one call, so the norm is available one step later."""

    name = "neuron"
    layout = "tensor-slices"

    def __init__(self, settings: Settings, config: ModelConfig) -> None:
        """The backend is not started."""
        self.settings = settings
        self.config = config
        self.rank, self.world = processes.place()
        self.degrees = degrees.spread(world=self.world, tensor=settings.tensor_parallel)
        self.dtype = torch.bfloat16 if settings.precision == "mixed" else torch.float32
        self._norm: Any = None

    @property
    def is_main(self) -> bool:
        """Rank 0."""
        return self.rank == 0

    @property
    def data_rank(self) -> int:
        """The replica that NxD assigns: on trn2 the ranks of a tensor-parallel group need not be consecutive."""
        return self._data_rank

    def start(self) -> None:
        """PyTorch/XLA's process group, then NxD's groups within it."""
        stack.check_stack()
        stack.set_environment()
        import torch_xla.core.xla_model as xm
        import torch_xla.distributed.xla_backend  # noqa: F401, it makes `xla` known to torch.distributed

        processes.join("xla")
        try:
            self.device = xm.xla_device()
        except RuntimeError as error:
            fail(Code.BACKEND, f"the Neuron runtime has no NeuronCore for this process: {error}")
        torch.manual_seed(self.settings.seed)
        xm.set_rng_state(self.settings.seed)
        self._words = Words(self.rank, self.world)
        self._nxd_config = self._configure()
        from neuronx_distributed.parallel_layers import parallel_state

        self._data_rank = parallel_state.get_data_parallel_rank()
        self.tensor_rank = parallel_state.get_tensor_model_parallel_rank()

    def _configure(self) -> Dict[str, Any]:
        import neuronx_distributed as nxd

        several = {"lnc_size": stack.cores_a_device()} if stack.cores_a_device() > 1 else {}
        return nxd.neuronx_distributed_config(
            tensor_parallel_size=self.degrees.tensor,
            optimizer_config={
                "zero_one_enabled": True,
                "grad_clipping": self.settings.clip > 0,
                "max_grad_norm": self.settings.clip,
            },
            # By NxD, with torch_xla's checkpoint: XLA would merge PyTorch's recomputation with the first computation.
            activation_checkpoint_config=_RECOMPUTED[self.settings.activation_checkpointing],
            sequence_parallel=False,
            mixed_precision_config={
                "use_master_weights": True,
                "use_fp32_grad_acc": True,
                "use_master_weights_in_ckpt": True,
            },
            **several,
        )

    def build(self) -> None:
        """Weights get their values on the host, before NxD moves the model and ZeRO-1 takes its master copies."""
        import neuronx_distributed as nxd
        from neuronx_distributed.utils.adamw_fp32_optim_params import AdamW_FP32OptimParams

        self.model = nxd.initialize_parallel_model(self._nxd_config, self._on_host)
        self.parameters = _by_name(self.model)
        self.optimizer = nxd.initialize_parallel_optimizer(
            self._nxd_config,
            AdamW_FP32OptimParams,
            decay_groups(self.parameters, self.settings.weight_decay),
            lr=self.settings.learning_rate,
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.adam_epsilon,
            weight_decay=self.settings.weight_decay,
            # The name in torch_xla: NxD passes `max_grad_norm` only to optimizers without ZeRO.
            max_norm=self.settings.clip if self.settings.clip > 0 else None,
        )
        self.optimizer.zero_grad()

    def _on_host(self) -> nn.Module:
        model = Llama(self.config, NxdLayers(self.dtype))
        parameters = dict(model.named_parameters())
        with torch.no_grad():
            for name in shapes(self.config):
                parameters[name].copy_(self._cut(name, initial(name, self.config, self.settings.seed)))
        return model

    def load_weights(self, folder: Path) -> None:
        """Each rank reads its slices; ZeRO-1 then makes its master copies again."""
        stored = Pretrained(folder, self.config)
        for name in shapes(self.config):
            self._put(name, stored.slice(name, self.degrees.tensor, self.tensor_rank))
        self.optimizer.optimizer.init_zero()

    def forward_backward(self, samples: Sequence[Sequence[int]], share: float) -> torch.Tensor:
        """Marks the step; the loss stays on the device."""
        ids = torch.tensor(samples, dtype=torch.int64).to(self.device)
        loss = self.model(ids[:, :-1], ids[:, 1:])
        (loss * share).backward()
        found = loss.detach()
        _run()
        return found

    def mean_loss(self, losses: Sequence[Any]) -> float:
        """Averaged over micro batches and replicas; 0.0 where only graphs are collected."""
        import torch_xla.core.xla_model as xm

        own = torch.stack(list(losses)).mean().reshape(1)
        total = xm.all_reduce(xm.REDUCE_SUM, own, groups=data_groups(), pin_layout=False)
        return self._number(total / self.degrees.data)

    def reduce_and_clip(self, limit: float) -> float:
        """The norm of the previous step: `step` reduces and clips the gradients of this one."""
        if limit > 0 and not math.isclose(limit, self.settings.clip):
            raise ValueError(f"the limit of norms is part of the compiled step: {self.settings.clip}, not {limit}")
        return 0.0 if self._norm is None else self._number(self._norm)

    def step(self, learning_rate: float) -> None:
        """Reduce, clip, AdamW in float32 on this replica's share, and gather the weights."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        norm = self.optimizer.grad_norm
        self._norm = None if norm is None else norm.detach()
        self.optimizer.zero_grad()
        _run()

    def checkpoint_bytes(self) -> int:
        """Bytes of a rank's weights (first replica only), and of its share of master weights and two moments."""
        numbers = sum(one.numel() for one in self.parameters.values())
        weights = numbers * self.dtype.itemsize if self.data_rank == 0 else 0
        return weights + 12 * numbers // self.degrees.data

    def save(self, part: Part) -> None:
        """The first replica writes weights, every process its share of the optimizer."""
        _run()
        weights, optimizer = self._files()
        if self.data_rank == 0:
            metadata = {"tensor_rank": str(self.tensor_rank), "tensor_degree": str(self.degrees.tensor)}
            with part.open(weights) as stream:
                safetensors_stream.write(stream, self.parameters, metadata)
        with part.open(optimizer) as stream:
            torch.save(_on_cpu(self.optimizer.state_dict()), stream)

    def load(self, folder: Path) -> None:
        """Load the files of `save`; weights first, because ZeRO-1 copies them."""
        from safetensors.torch import load_file

        weights, optimizer = self._files()
        for name, tensor in load_file(str(folder / weights)).items():
            self._put(name, tensor)
        self.optimizer.load_state_dict(torch.load(folder / optimizer, map_location="cpu", weights_only=True))
        _run()

    def parameters_sha256(self) -> str:
        """Gathers one weight at a time on the host of the first process, which sends the digest to the others."""
        found = hashing.ParametersHash()
        for name in sorted(self.parameters):
            whole = self._whole(name)
            if self.is_main:
                found.add(name, whole)
        return self.exchange(found.hexdigest())[0]

    def exchange(self, text: str) -> List[str]:
        """Over the host's network."""
        return self._words.exchange(text)

    def close(self) -> None:
        """Leave the group."""
        torch.distributed.destroy_process_group()

    def _files(self) -> "tuple[str, str]":
        slice_of = f"tp{self.tensor_rank:02}-of-{self.degrees.tensor:02}"
        share = f"dp{self.data_rank:02}-of-{self.degrees.data:02}"
        return f"model-{slice_of}.safetensors", f"optimizer-{slice_of}-{share}.pt"

    def _cut(self, name: str, whole: torch.Tensor) -> torch.Tensor:
        return cut(name, whole, self.config, self.degrees.tensor, self.tensor_rank)

    def _put(self, name: str, values: torch.Tensor) -> None:
        with torch.no_grad():
            self.parameters[name].copy_(values.to(self.dtype))

    def _whole(self, name: str) -> torch.Tensor:
        own = self.parameters[name].detach()
        if pieces(name, self.config, self.degrees.tensor) == 1:
            return own
        import torch_xla.core.xla_model as xm

        every = xm.all_gather(own.unsqueeze(0), dim=0, groups=tensor_groups(), pin_layout=False)
        _run()
        return join(name, list(every.to("cpu")), self.config) if self.is_main else every

    def _number(self, tensor: torch.Tensor) -> float:
        found = float(tensor.detach().to("cpu").item())
        return 0.0 if stack.only_compiling() else found


def _by_name(model: nn.Module) -> Dict[str, nn.Parameter]:
    """The parameters by our names, without the prefixes of NxD's wrappers."""
    return {name.replace("_checkpoint_wrapped_module.", ""): one for name, one in model.named_parameters()}


def _run() -> None:
    """Run the operations recorded so far on the device, as one graph."""
    import torch_xla

    if hasattr(torch_xla, "sync"):  # since torch_xla 2.5; `mark_step` is deprecated there.
        torch_xla.sync()
        return
    import torch_xla.core.xla_model as xm

    xm.mark_step()


def _on_cpu(value: Any) -> Any:
    """The same with every tensor on the host."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu")
    if isinstance(value, dict):
        return {key: _on_cpu(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_on_cpu(one) for one in value)
    return value
