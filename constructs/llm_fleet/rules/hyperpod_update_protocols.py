"""What the rules of HyperPod ask of updates and patches: read-only attributes, all plain values."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from llm_fleet.rules.terms import CapacityUnit, OnDrainTimeout, PatchingStrategy


class BatchSizeLike(Protocol):
    """How many nodes an update takes at once (`CapacitySizeConfig`)."""

    @property
    def unit(self) -> CapacityUnit:
        """What `value` counts."""
        ...

    @property
    def value(self) -> int:
        """How many, or how many per cent."""
        ...


class DeploymentLike(Protocol):
    """How an update rolls over a group (`DeploymentConfiguration`)."""

    @property
    def maximum_batch_size(self) -> BatchSizeLike | None:
        """How many nodes at once; `None` for all."""
        ...

    @property
    def rollback_maximum_batch_size(self) -> BatchSizeLike | None:
        """The same on the way back."""
        ...

    @property
    def wait_interval_seconds(self) -> int | None:
        """Pause between two batches."""
        ...

    @property
    def alarm_names(self) -> Sequence[str]:
        """CloudWatch alarms that make it roll back; none when empty."""
        ...


class ScheduledUpdateLike(Protocol):
    """When HyperPod updates a group's software (`ScheduledUpdateConfig`)."""

    @property
    def schedule_expression(self) -> str:
        """`cron(…)` of six fields, in UTC."""
        ...

    @property
    def deployment(self) -> DeploymentLike | None:
        """How it rolls; `None` for the service's own way."""
        ...


class AutoPatchLike(Protocol):
    """How HyperPod patches a group by itself (`AutoPatchConfig`)."""

    @property
    def strategy(self) -> PatchingStrategy:
        """Which nodes it takes, and when."""
        ...

    @property
    def next_patch_date(self) -> datetime | None:
        """The first patch; `None` lets HyperPod choose."""
        ...

    @property
    def idle_wait_window_seconds(self) -> int | None:
        """How long it waits for nodes to become idle."""
        ...

    @property
    def drain_timeout_seconds(self) -> int | None:
        """How long a node may take to drain."""
        ...

    @property
    def on_drain_timeout(self) -> OnDrainTimeout | None:
        """What happens to one that takes longer."""
        ...

    @property
    def deployment(self) -> DeploymentLike | None:
        """How it rolls; `None` for the service's own way."""
        ...
