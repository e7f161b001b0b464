"""A file system of the fleet as the rules of ParallelCluster see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.parallelcluster.terms import StorageKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageView:
    """A file system that nodes mount beside the cluster's own (`SharedStorageLike`)."""

    name: str
    kind: StorageKind
    mount_dir: str
    existing_id: str | None
    """The fleet's own get their ids when they are made: what stands here then only says that they are there."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
