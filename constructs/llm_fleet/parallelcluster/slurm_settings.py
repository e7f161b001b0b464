"""Settings of Slurm and of scaling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy, ScalingStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    """Settings of Slurm (`SlurmSettings`) and of scaling. Nothing is checked here: the cluster does."""

    scaledown_idletime_minutes: int | None = None
    """After how long without a job a node above `min_count` ends; -1 never. Default of ParallelCluster: 10."""
    scaling_strategy: ScalingStrategy = ScalingStrategy.ALL_OR_NOTHING
    """What becomes of a job whose nodes are not all to be had.

    All or nothing: a training job of 15 nodes in place of 16 does not start, but those 15 would be paid for.
    """
    queue_update_strategy: QueueUpdateStrategy = QueueUpdateStrategy.DRAIN
    """What an update does to nodes that must be replaced.

    DRAIN lets their jobs end; ParallelCluster's own default refuses the update until someone stops the fleet.
    """
    memory_based_scheduling: bool = False
    """Whether jobs must fit into memory by `--mem`. Off: training jobs have their nodes to themselves."""
    custom_settings: Sequence[Mapping[str, Any]] = ()
    """Further lines of slurm.conf (`CustomSlurmSettings`). Default: none."""
    custom_settings_file: str | None = None
    """In place of `custom_settings`: a file at `s3://` or `https://` that slurm.conf includes. Nobody checks it."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of `SlurmSettings` that have no field here, in ParallelCluster's spelling, e.g. `{"Dns": {…}}`."""
