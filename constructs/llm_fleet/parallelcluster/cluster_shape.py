"""A cluster as the rules of ParallelCluster see it: plain values, tokens where only the deployment knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.accounting.accounting import Accounting
from llm_fleet.parallelcluster.head_node import HeadNode
from llm_fleet.parallelcluster.login_pool import LoginPool
from llm_fleet.parallelcluster.queue import Queue
from llm_fleet.parallelcluster.shared_storage import SharedStorage
from llm_fleet.parallelcluster.slurm_settings import SlurmSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    """A cluster with every default filled in (`rules.parallelcluster.protocols.ParallelClusterLike`)."""

    cluster_name: str
    region: str
    version: str
    os: str
    head_node: HeadNode
    queues: Sequence[Queue]
    login_pools: Sequence[LoginPool]
    shared_storage: Sequence[SharedStorage]
    slurm: SlurmSettings
    accounting: Accounting | None
    detailed_monitoring: bool
    log_retention_days: int
    tags: Mapping[str, str]
    overrides: Mapping[str, Any]
    image_id: str | None
    scheduler: str
