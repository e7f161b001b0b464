"""A placement group that nobody wrote down: the default of `placement_group_of`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPlacement:
    """What a compute resource gets where neither it nor its queue says a word."""

    enabled: bool
    name: str | None = None


MANAGED = DefaultPlacement(enabled=True)
NONE = DefaultPlacement(enabled=False)
