"""Settings of Slurm in a ParallelCluster."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.config.parallelcluster.values import IdleMinutes
from llm_fleet.rules.parallelcluster.terms import QueueUpdateStrategy, ScalingStrategy
from llm_fleet.spec.model import FleetModel


class SlurmConfig(FleetModel):
    """Settings of Slurm, and of how nodes come and go."""

    other_words: ClassVar[Mapping[str, str]] = {
        "ScaledownIdletime": "write `scaledown`, with its unit",
        "QueueUpdateStrategy": "write `queue_update`",
        "EnableMemoryBasedScheduling": "write `memory_based`",
        "CustomSlurmSettings": "write `settings`",
        "CustomSlurmSettingsIncludeFile": "write `settings_file`",
        "Database": "write `accounting` of the cluster",
        "ExternalSlurmdbd": "write `accounting` of the cluster",
    }

    scaledown_idletime_minutes: IdleMinutes | None = Field(default=None, alias="scaledown")
    """How long a node idles before it goes, e.g. `10 min`, or `never`. Default: 10 minutes."""
    scaling_strategy: ScalingStrategy = Field(default=ScalingStrategy.ALL_OR_NOTHING, alias="scaling")
    """What becomes of a job whose nodes are not all to be had. Default: `all-or-nothing`: none is paid for."""
    queue_update_strategy: QueueUpdateStrategy = Field(default=QueueUpdateStrategy.DRAIN, alias="queue_update")
    """What an update does to nodes that must be replaced. Default: `DRAIN`, so that no job is killed."""
    memory_based_scheduling: bool = Field(default=False, alias="memory_based")
    """Whether Slurm hands out memory as it does CPUs, and holds jobs to it. Default: no."""
    custom_settings: tuple[Mapping[str, Any], ...] = Field(default=(), alias="settings")
    """Further settings, in the words of slurm.conf, as a list of mappings. Default: none."""
    custom_settings_file: str | None = Field(default=None, alias="settings_file")
    """A file of such settings in their place, `s3://…`. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""
