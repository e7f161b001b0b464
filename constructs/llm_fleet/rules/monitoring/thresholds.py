"""From when on the alarms of a cluster ring."""

import math
from typing import Protocol

from llm_fleet.catalog.monitoring import alarm_minutes, alarm_thresholds
from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_PERCENT = "_percent"
_MINUTES = "_minutes"


class ClusterAlarmThresholdsLike(Protocol):
    """Thresholds of a cluster's alarms (`ClusterAlarmThresholds`); `None` is the catalog's figure."""

    @property
    def node_failed_minutes(self) -> int | None:
        """How long a node is in Failure."""
        ...

    @property
    def stuck_pending_minutes(self) -> int | None:
        """How long nodes are wanted and not there."""
        ...

    @property
    def idle_percent(self) -> float | None:
        """Below which use accelerators are idle."""
        ...

    @property
    def idle_minutes(self) -> int | None:
        """How long a job's accelerators are idle."""
        ...

    @property
    def unused_minutes(self) -> int | None:
        """How long nobody has a job."""
        ...

    @property
    def disk_percent(self) -> float | None:
        """How full a disk of a node is."""
        ...

    @property
    def file_system_percent(self) -> float | None:
        """How full a file system is."""
        ...

    @property
    def queue_wait_minutes(self) -> int | None:
        """How long a job waits that could run."""
        ...

    @property
    def nodes_down_minutes(self) -> int | None:
        """How long Slurm takes a node for down."""
        ...

    @property
    def silent_minutes(self) -> int | None:
        """How long no node says anything."""
        ...


def check_cluster_thresholds(thresholds: ClusterAlarmThresholdsLike) -> list[Problem]:
    """Return a problem for each threshold at which an alarm would always ring, or never."""
    names = [name for name in alarm_thresholds() if hasattr(thresholds, name)]
    return [problem for name in names for problem in _check(name, getattr(thresholds, name))]


def _check(name: str, value: object) -> list[Problem]:
    if value is None or is_unresolved(value) or _is_right(name, value):
        return []
    usual = f"{alarm_thresholds()[name]:g}"
    return [
        Problem(
            code=AlarmCode.MONITORING_THRESHOLD,
            path=(name,),
            value=value,
            message="with this the alarm would ring always, or never",
            allowed="above 0 and below 100" if name.endswith(_PERCENT) else f"{alarm_minutes().range} minutes",
            remedy=f"leave it out, for {usual}{'' if name.endswith(_PERCENT) else ' minutes'}",
        )
    ]


def _is_right(name: str, value: object) -> bool:
    if type(value) not in (int, float) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if name.endswith(_MINUTES):
        return type(value) is int and alarm_minutes().holds(value)
    return 0 < value < 100
