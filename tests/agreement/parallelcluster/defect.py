"""An error that llm-fleet's rules and ParallelCluster's validators must both report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from tests.rules.parallelcluster.shapes import Cluster

GOOD = Cluster()
SCHEMA = "ClusterSchema"
"""The oracle's name for ParallelCluster's schema, which is checked before any validator."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A cluster with one error, and a similar one without errors."""

    name: str
    cluster: PlacedParallelCluster
    code: Code
    """llm-fleet's error code, the only one that must be reported."""
    validator: str
    """ParallelCluster's validator that must report an error; others may report one as well."""
    said: str = ""
    """Expected text of that error, if the validator has several rules."""
    good: PlacedParallelCluster = GOOD
    """A similar cluster without errors, which both accept."""
    alone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments for the validator alone, if ParallelCluster passes it other values than those in the configuration."""

    def __str__(self) -> str:
        return self.name
