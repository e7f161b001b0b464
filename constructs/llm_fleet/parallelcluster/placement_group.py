"""Whether instances stand close together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    """Whether a queue's instances stand close together (`Networking/PlacementGroup`).

    Make one with `managed`, `named` or `none`. ParallelCluster refuses EFA without saying one of them.
    """

    enabled: bool
    """`Enabled`."""
    name: str | None = None
    """`Name` of a group that exists."""

    @classmethod
    def managed(cls) -> "PlacementGroup":
        """Return a group of ParallelCluster's own: one for each compute resource, deleted with it."""
        return cls(enabled=True)

    @classmethod
    def named(cls, name: str) -> "PlacementGroup":
        """Return the group called `name`, which exists already."""
        return cls(enabled=True, name=name)

    @classmethod
    def none(cls) -> "PlacementGroup":
        """Return that there is none on purpose: a reservation has its own, or several AZs are wanted."""
        return cls(enabled=False)
