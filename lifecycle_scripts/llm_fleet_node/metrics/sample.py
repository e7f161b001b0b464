"""What was measured at one time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from llm_fleet_node.metrics.reading import Reading


@dataclass(frozen=True)
class Sample:
    """A reading and its time."""

    milliseconds: int
    """Since 1970, by the node's clock."""
    reading: Reading

    @property
    def numbers(self) -> dict[str, float]:
        """The values that are numbers: neither CloudWatch nor JSON knows of infinities."""
        return {key: round(value, 4) for key, value in self.reading.values.items() if math.isfinite(value)}
