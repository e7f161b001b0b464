"""Closed vocabularies of a ParallelCluster in the fleet file."""

from enum import StrEnum

from llm_fleet.rules.parallelcluster.terms import CapacityType


class Capacity(StrEnum):
    """Where a queue's instances come from, as the fleet file spells it."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"

    @property
    def type(self) -> CapacityType:
        """ParallelCluster's word for it."""
        return _TYPES[self]


_TYPES = {
    Capacity.ON_DEMAND: CapacityType.ONDEMAND,
    Capacity.SPOT: CapacityType.SPOT,
    Capacity.CAPACITY_BLOCK: CapacityType.CAPACITY_BLOCK,
}
