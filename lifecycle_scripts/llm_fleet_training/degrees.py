"""Over how many processes a model and its batch are spread. Needs no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Dict, List


@dataclass(frozen=True)
class Degrees:
    """Rank order: tensor-parallel neighbours first, then context, then pipeline, then data."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    shard: int = 0
    """Over how many processes FSDP shards weights; 0: over all of the data degree."""
    data: int = 1
    """How many replicas read different samples: world size over tensor x pipeline x context."""

    def as_words(self) -> Dict[str, int]:
        """For checkpoint.json."""
        return asdict(self)

    def __str__(self) -> str:
        """As a user would say it."""
        return ", ".join(f"{name} {value}" for name, value in self.as_words().items() if value > 1) or "one process"


def spread(*, world: int, tensor: int, pipeline: int = 1, context: int = 1, shard: int = 0) -> Degrees:
    """Degrees of `world` processes, which `misfits` has nothing against."""
    return Degrees(
        tensor=tensor, pipeline=pipeline, context=context, shard=shard, data=world // (tensor * pipeline * context)
    )


def misfits(*, world: int, tensor: int, pipeline: int = 1, context: int = 1, shard: int = 0) -> List[str]:
    """Why processes cannot be spread so; empty when they can."""
    named = {"tensor parallel": tensor, "pipeline parallel": pipeline, "context parallel": context}
    found = [f"{name} {value} is not 1 or more" for name, value in named.items() if value < 1]
    if shard < 0:
        found.append(f"shard degree {shard} is not 0 or more")
    if found:
        return found
    product = tensor * pipeline * context
    if world % product:
        words = [f"{name} {value}" for name, value in named.items() if value > 1]
        reported = words[0] if len(words) == 1 else f"{' x '.join(words)} = {product}"
        found.append(f"{reported} does not divide {world} processes")
    if shard and (world // tensor) % shard:
        found.append(f"shard degree {shard} does not divide {world} processes / tensor parallel {tensor}")
    if shard and context > shard:
        found.append(f"context parallel {context} is above shard degree {shard}")
    return found
