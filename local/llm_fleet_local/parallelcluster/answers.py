"""Results of ParallelCluster's checks of a configuration."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaMessage:
    """An error of the schema in a configuration."""

    path: str
    """The location, e.g. `Scheduling/SlurmQueues/0/Name`: keys, and positions in lists."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A message of a validator about a configuration."""

    validator: str
    """The validator's class, e.g. `NameValidator`; `ClusterSchema` for errors of the schema."""
    level: str
    """`INFO`, `WARNING` or `ERROR`."""
    message: str

    def __str__(self) -> str:
        return f"{self.level} {self.validator}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a deployed configuration, checked against its update policy."""

    path: str
    """The location, e.g. `Scheduling/SlurmQueues[trn1]/ComputeResources[trn1]/MaxCount`: items of lists by name."""
    old: Any
    new: Any
    verdict: str
    """`SUCCEEDED`, `ACTION NEEDED` (stop the fleet, or set another strategy) or `FAILED` (never possible)."""
    reason: str
    action_needed: str
    policy: str
    """Name of the update policy, e.g. `QUEUE_UPDATE_STRATEGY`."""

    def __str__(self) -> str:
        return f"{self.path}: {self.verdict} {self.reason} {self.action_needed}".strip()
