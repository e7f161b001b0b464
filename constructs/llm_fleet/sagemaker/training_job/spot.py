"""Spot instances for a training job."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Capacity that AWS may take back: SageMaker waits for more, and starts the script again with its checkpoints.

    Without checkpoints, the script begins from the start each time.
    """

    max_wait_seconds: int | None = None
    """For how long the job may wait and run altogether. Default: a day more than it may run."""
