"""A reading with its time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from llm_fleet_node.metrics.reading import Reading


@dataclass(frozen=True)
class Sample:
    """A reading and its time."""

    milliseconds: int
    """Milliseconds since 1970, by the node's clock."""
    reading: Reading

    @property
    def numbers(self) -> dict[str, float]:
        """The finite values: CloudWatch and JSON have no infinity."""
        return {key: round(value, 4) for key, value in self.reading.values.items() if math.isfinite(value)}
