"""What the descriptions of clusters of every kind have in common."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.spec import Spec


class ClusterSpec(Spec):
    """A cluster that runs Slurm, on HyperPod or ParallelCluster, by itself."""

    cluster_name: Annotated[str | None, Field(alias="name")] = None
    """The cluster's name. Default: its key in a fleet file; in Python one that is made of the construct's path."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: that of the Lustre file system, the fleet's `fsx`, else the network's
    first."""
    tags: Mapping[str, str] = {}
    """Tags of the cluster, next to those of the fleet or of its stack. Default: none."""
