"""How an update of the nodes' image rolls over a group."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.hyperpod.batch_size import BatchSize


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingUpdate:
    """How an update of the nodes' image rolls over a group (`DeploymentConfig`)."""

    maximum_batch_size: BatchSize | None = None
    """How many nodes are out of service at once. Default: the service replaces the whole group at once."""
    rollback_maximum_batch_size: BatchSize | None = None
    """The same on the way back. Default: as on the way out."""
    wait_interval_seconds: int | None = None
    """Pause between two batches, 0 to 3600 seconds. Default: the service goes on at once."""
    alarm_names: Sequence[str] = ()
    """CloudWatch alarms, 10 at most, any of which makes the update roll back. Default: none.

    The nodes' role needs `cloudwatch:DescribeAlarms` for it; the role that the cluster makes has it then.
    """
