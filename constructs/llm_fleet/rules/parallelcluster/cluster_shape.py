"""A ParallelCluster with every default filled in, as its rules judge it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.rules.accounting import AccountingLike
from llm_fleet.spec.parallelcluster import SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    """A cluster with what the rest of the fleet says of it: the construct and the fleet file both make one.

    Any value may be an unresolved CDK token; the rules pass over those.
    """

    cluster_name: str
    """Its name as the user gave it; ParallelCluster's has a hash behind it (see `name_with_hash`)."""
    region: str
    version: str
    os: str
    head_node: HeadNode
    queues: Sequence[Queue]
    login_pools: Sequence[LoginPool] = ()
    shared_storage: Sequence[SharedStorage] = ()
    """Those of the fleet among them."""
    slurm: SlurmSettings = SlurmSettings()  # noqa: RUF009 - frozen
    accounting: AccountingLike | None = None
    """Accounting outside the cluster; `None` for none."""
    detailed_monitoring: bool = False
    log_retention_days: int = 180
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of ParallelCluster that have no attribute here, in its own spelling, merged in at this place."""
    image_id: str | None = None
    scheduler: str = "slurm"

    @property
    def efa_with_address(self) -> bool:
        """Whether EFA's interfaces have addresses, as they had before ParallelCluster 3.15."""
        settings: Any = self.overrides.get("DevSettings")
        return isinstance(settings, Mapping) and "efa" in (settings.get("EfaInterfaceType"),)  # pyright: ignore[reportUnknownMemberType]
