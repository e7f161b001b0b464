"""The kinds of clusters that a fleet can have."""

from typing import Annotated

from pydantic import Field

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.kinds import KIND
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig

AnyCluster = Annotated[HyperPodConfig | ParallelClusterConfig, Field(discriminator=KIND)]
"""A cluster of either kind, told by its `kind`."""
