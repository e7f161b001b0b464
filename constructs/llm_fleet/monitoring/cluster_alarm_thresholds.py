"""From when on somebody is called about a cluster."""

from dataclasses import dataclass

from llm_fleet.catalog.monitoring import alarm_thresholds
from llm_fleet.rules.monitoring.thresholds import check_cluster_thresholds
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAlarmThresholds:
    """From when on the alarms of clusters and file systems ring; `None` is the catalog's figure.

    Minutes are whole, 5 to 1440. Raises `FleetError` (LF1180) for what would always ring, or never.
    """

    node_failed_minutes: int | None = None
    """How long a node of HyperPod is in Failure: longer than replacing one takes to begin. Default: 10."""
    stuck_pending_minutes: int | None = None
    """How long nodes that a group wants are pending or missing. Default: 30."""
    idle_percent: float | None = None
    """Below which use of accelerators, on the mean of all nodes, they are idle. Default: 5."""
    idle_minutes: int | None = None
    """How long they are, while a job holds nodes. Default: 60."""
    unused_minutes: int | None = None
    """How long they are, while no job holds any node. Default: 120."""
    disk_percent: float | None = None
    """How full the fullest disk of any node is. Default: 85."""
    file_system_percent: float | None = None
    """How full a file system is; of Lustre, its fullest target. Default: 90."""
    queue_wait_minutes: int | None = None
    """How long a job of Slurm has waited that could run, while nodes are idle, down or drained. Default: 240."""
    nodes_down_minutes: int | None = None
    """How long Slurm takes a node for down. Default: 15."""
    silent_minutes: int | None = None
    """How long no node publishes anything while nodes run. Default: 30."""

    def __post_init__(self) -> None:
        """Raise `FleetError` with everything that is wrong."""
        raise_problems(check_cluster_thresholds(self), subject="ClusterAlarmThresholds")

    def figure(self, name: str) -> float:
        """Return the threshold `name`, the catalog's where none was given."""
        own: float | None = getattr(self, name)
        return alarm_thresholds()[name] if own is None else own
