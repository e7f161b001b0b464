"""A mistake that both sides are asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.rules.parallelcluster.shapes import Cluster

GOOD = Cluster()
SCHEMA = "ClusterSchema"
"""What the oracle calls ParallelCluster's schema, which speaks before any validator."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A cluster with one mistake, and the nearest one without."""

    name: str
    cluster: PlacedParallelCluster
    code: Code
    """Ours; the only one that may be found."""
    validator: str
    """Theirs, which must speak; others may too."""
    said: str = ""
    """What theirs must say, where one validator has several rules."""
    good: PlacedParallelCluster = GOOD
    """A legal neighbour: both sides take it."""
    alone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments for the validator alone, where ParallelCluster's configuration hands it others than its text says."""

    def __str__(self) -> str:
        return self.name
