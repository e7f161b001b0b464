"""From when on somebody is called about a cluster."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Minutes


class ClusterThresholdsConfig(FleetModel):
    """From when on the alarms of clusters and file systems ring (`ClusterAlarmThresholdsLike`)."""

    node_failed_minutes: Minutes | None = Field(default=None, alias="node_failed", examples=["20 min"])
    """How long a node of HyperPod is in Failure. Default: `10 min`."""
    stuck_pending_minutes: Minutes | None = Field(default=None, alias="stuck_pending")
    """How long nodes that a group wants are pending or missing. Default: `30 min`."""
    idle_percent: float | None = None
    """Below which use of accelerators, on the mean of all nodes, they are idle. Default: 5."""
    idle_minutes: Minutes | None = Field(default=None, alias="idle")
    """How long they are, while a job holds nodes. Default: `1 h`."""
    unused_minutes: Minutes | None = Field(default=None, alias="unused")
    """How long they are, while no job holds any node. Default: `2 h`."""
    disk_percent: float | None = None
    """How full the fullest disk of any node is. Default: 85."""
    file_system_percent: float | None = None
    """How full a file system is; of Lustre, its fullest target. Default: 90."""
    queue_wait_minutes: Minutes | None = Field(default=None, alias="queue_wait")
    """How long a job of Slurm has waited that could run, while nodes are idle, down or drained. Default: `4 h`."""
    nodes_down_minutes: Minutes | None = Field(default=None, alias="nodes_down")
    """How long Slurm takes a node for down. Default: `15 min`."""
    silent_minutes: Minutes | None = Field(default=None, alias="silent")
    """How long no node publishes anything while nodes run. Default: `30 min`."""
