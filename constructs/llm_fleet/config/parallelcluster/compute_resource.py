"""A compute resource of a ParallelCluster's queue."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.parallelcluster.instances import InstancesModel
from llm_fleet.config.parallelcluster.other_words import OF_INSTANCES


class ComputeResourceConfig(InstancesModel):
    """Like instances of a queue. Its key is the compute resource's name."""

    written_as: ClassVar[Mapping[str, str]] = {
        "instance_types": "type",
        "disable_simultaneous_multithreading": "hyperthreading",
    }
    other_words: ClassVar[Mapping[str, str]] = OF_INSTANCES

    static_node_priority: int | None = Field(default=None, alias="static_priority")
    """Slurm's weight of the nodes that always run; the lower, the sooner. Default: 1."""
    dynamic_node_priority: int | None = Field(default=None, alias="dynamic_priority")
    """Slurm's weight of the nodes that come and go. Default: 1000."""
