"""Whether capacity that was bought or reserved is there when a fleet wants it: the parts that all kinds share."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from llm_fleet.rules.problem import PathPart

WARNED_BEFORE = timedelta(days=1)
"""Who deploys onto capacity that ends within a day wants to know it. Our choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityNeed:
    """What one part of a fleet takes of bought capacity."""

    owner: str
    instance_types: tuple[str, ...]
    """As the seller names them, e.g. `ml.trn1.32xlarge` of a training plan, `p5.48xlarge` of EC2."""
    count: int
    """What is not running yet."""
    zone: str | None = None
    """AZ id where it is to stand; `None` where nobody told."""
    path: tuple[PathPart, ...] = ()


def when(moment: datetime) -> str:
    """Return a moment as people write it, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"
