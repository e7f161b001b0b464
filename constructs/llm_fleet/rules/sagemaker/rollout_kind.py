"""How the traffic of an endpoint goes over to what an update brings."""

from enum import StrEnum


class RolloutKind(StrEnum):
    """The kinds of rollout; values are the service's, but for `ROLLING`, which has a policy of its own."""

    ALL_AT_ONCE = "ALL_AT_ONCE"
    """A whole new fleet takes all traffic in one step."""
    CANARY = "CANARY"
    """A whole new fleet takes a part of the traffic, and the rest once that has gone well."""
    LINEAR = "LINEAR"
    """A whole new fleet takes the traffic in equal steps."""
    ROLLING = "ROLLING"
    """Instances are replaced in batches, so that no second fleet is needed."""
