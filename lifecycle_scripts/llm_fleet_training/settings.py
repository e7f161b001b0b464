"""The settings of a training run. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional


@dataclass(frozen=True)
class Settings:
    """Options of `train`; lengths in tokens, batches in samples. `arguments.py` describes each."""

    run_folder: Path
    model: Path
    backend: str
    sequence_length: int
    global_batch: int
    steps: int
    micro_batch: int = 1
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    shard_degree: int = 0
    seed: int = 1234
    learning_rate: float = 3e-4
    minimum_learning_rate: float = 3e-5
    warmup_steps: int = 0
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    adam_epsilon: float = 1e-8
    clip: float = 1.0
    checkpoint_every: int = 100
    checkpoints_kept: int = 2
    from_weights: Optional[Path] = None
    mirror: Optional[str] = None
    precision: str = "mixed"
    """`mixed`: 16-bit compute with float32 weights, where there are accelerators; or `float32`."""
    activation_checkpointing: str = "none"
    """`none`, `selective` (attention only) or `full`: what the backward pass recomputes."""
    compile_only: Optional[int] = None
    smp_config: Optional[Path] = None

    @property
    def tokens(self) -> Path:
        """The folder that `tokenize` writes."""
        return self.run_folder / "tokens"

    @property
    def checkpoints(self) -> Path:
        """The folder of complete checkpoints."""
        return self.run_folder / "checkpoints"
