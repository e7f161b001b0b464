"""Degrees of parallelism. Needs no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Dict, List


@dataclass(frozen=True)
class Degrees:
    """Consecutive ranks differ in tensor parallel first, then context, then pipeline, then data."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    shard: int = 0
    """The number of processes over which FSDP shards weights; 0: all of the data degree."""
    data: int = 1
    """The number of replicas that read different samples: world size / (tensor x pipeline x context)."""

    def as_words(self) -> Dict[str, int]:
        """The object in checkpoint.json."""
        return asdict(self)

    def __str__(self) -> str:
        """Text for messages."""
        return ", ".join(f"{name} {value}" for name, value in self.as_words().items() if value > 1) or "one process"


def spread(*, world: int, tensor: int, pipeline: int = 1, context: int = 1, shard: int = 0) -> Degrees:
    """Degrees of `world` processes, after `misfits` returned nothing."""
    return Degrees(
        tensor=tensor, pipeline=pipeline, context=context, shard=shard, data=world // (tensor * pipeline * context)
    )


def misfits(*, world: int, tensor: int, pipeline: int = 1, context: int = 1, shard: int = 0) -> List[str]:
    """Reasons why the degrees do not fit the processes; empty when they do."""
    named = {"tensor parallel": tensor, "pipeline parallel": pipeline, "context parallel": context}
    found = [f"{name} {value} must be 1 or more" for name, value in named.items() if value < 1]
    if shard < 0:
        found.append(f"shard degree {shard} must be 0 or more")
    if found:
        return found
    product = tensor * pipeline * context
    if world % product:
        words = [f"{name} {value}" for name, value in named.items() if value > 1]
        factors = words[0] if len(words) == 1 else f"{' x '.join(words)} = {product}"
        found.append(f"{factors} does not divide {world} processes")
    if shard and (world // tensor) % shard:
        found.append(f"shard degree {shard} does not divide {world} processes / tensor parallel {tensor}")
    if shard and context > shard:
        found.append(f"context parallel {context} is above shard degree {shard}")
    return found
