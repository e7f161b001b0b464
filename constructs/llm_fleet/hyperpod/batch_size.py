"""How many nodes an update takes at once."""

from dataclasses import dataclass

from llm_fleet.rules.terms import CapacityUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """How many nodes of a group an update takes at once (`CapacitySizeConfig`)."""

    unit: CapacityUnit
    value: int
    """Nodes, or percent of the group, by `unit`. At least 1."""

    @classmethod
    def nodes(cls, value: int) -> "BatchSize":
        """Take `value` nodes at once."""
        return cls(unit=CapacityUnit.INSTANCE_COUNT, value=value)

    @classmethod
    def percent(cls, value: int) -> "BatchSize":
        """Take `value` percent of the group at once."""
        return cls(unit=CapacityUnit.CAPACITY_PERCENTAGE, value=value)
