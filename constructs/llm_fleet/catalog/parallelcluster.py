"""What ParallelCluster takes: versions, operating systems, names, numbers."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelClusterLimits:
    """Bounds of names and numbers."""

    part_name: Limit
    """Of a queue, compute resource or login pool."""
    reserved_names: tuple[str, ...]


@cache
def parallelcluster_limits() -> ParallelClusterLimits:
    """Return the bounds that hold for every cluster."""
    facts = load("parallelcluster")["limits"]
    return ParallelClusterLimits(part_name=_limit(facts["part_name"]), reserved_names=tuple(facts["reserved_names"]))


def _limit(facts: dict[str, Any]) -> Limit:
    return Limit(minimum=facts.get("min"), maximum=facts.get("max"), pattern=facts.get("pattern"))
