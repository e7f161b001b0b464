"""A ParallelCluster of the fleet file as the rules see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.config.parallelcluster.head_node import HeadNodeConfig
from llm_fleet.config.parallelcluster.login_pool import LoginPoolConfig
from llm_fleet.config.parallelcluster.queue import QueueConfig
from llm_fleet.config.parallelcluster.slurm import SlurmConfig
from llm_fleet.config.parallelcluster.storage_view import StorageView
from llm_fleet.rules.parallelcluster.part_protocols import AccountingLike, SharedStorageLike
from llm_fleet.rules.parallelcluster.terms import StorageKind

FSX, HOME = "fsx", "home"
"""Names of the fleet's file systems in its clusters."""

_MADE_FSX, _MADE_VOLUME = "fs-00000000000000000", "fsvol-00000000000000000"
"""For ids that only the deployment knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelClusterView:
    """A cluster with what the rest of the fleet file says of it (`ParallelClusterLike`)."""

    fleet: Fleet
    config: ParallelClusterConfig

    @property
    def cluster_name(self) -> str:
        """As written, else the cluster's key."""
        return self.config.cluster_name

    @property
    def scheduler(self) -> str:
        """As written."""
        return self.config.scheduler

    @property
    def region(self) -> str:
        """The fleet's."""
        return self.fleet.region

    @property
    def version(self) -> str:
        """As written."""
        return self.config.version

    @property
    def os(self) -> str:
        """As written."""
        return self.config.os

    @property
    def image_id(self) -> str | None:
        """As written."""
        return self.config.image_id

    @property
    def head_node(self) -> HeadNodeConfig:
        """As written."""
        return self.config.head_node

    @property
    def queues(self) -> Sequence[QueueConfig]:
        """In the order of the file, each in the AZ that it stands in."""
        return [self._placed(queue) for queue in self.config.queues.values()]

    @property
    def login_pools(self) -> Sequence[LoginPoolConfig]:
        """In the order of the file."""
        return tuple(self.config.login_pools.values())

    @property
    def shared_storage(self) -> Sequence[SharedStorageLike]:
        """Those of the fleet, then those of the cluster."""
        return [*self._of_fleet(), *self.config.shared_storage.values()]

    @property
    def slurm(self) -> SlurmConfig:
        """As written."""
        return self.config.slurm

    @property
    def accounting(self) -> AccountingLike | None:
        """As written."""
        return self.config.accounting

    @property
    def detailed_monitoring(self) -> bool:
        """As written."""
        return self.config.detailed_monitoring

    @property
    def log_retention_days(self) -> int:
        """As written."""
        return self.config.log_retention_days

    @property
    def tags(self) -> Mapping[str, str]:
        """Its own; those of the fleet are checked where they are written."""
        return self.config.tags

    @property
    def overrides(self) -> Mapping[str, Any]:
        """As written."""
        return self.config.overrides

    @property
    def availability_zone_id(self) -> str | None:
        """As written, else that of the fleet's file system, else the network's first."""
        return self.config.availability_zone_id or self.fleet.zone_of_fsx or self.fleet.first_zone

    @property
    def efa_with_address(self) -> bool:
        """Whether EFA's interfaces have addresses, as they had before ParallelCluster 3.15."""
        settings: Any = self.overrides.get("DevSettings")
        return isinstance(settings, Mapping) and "efa" in (settings.get("EfaInterfaceType"),)  # pyright: ignore[reportUnknownMemberType]

    def _placed(self, queue: QueueConfig) -> QueueConfig:
        if queue.subnet_ids:
            return queue
        placed = queue.model_copy(
            update={"availability_zone_id": queue.availability_zone_id or self.availability_zone_id}
        )
        placed.called(queue.name)
        return placed

    def _of_fleet(self) -> list[StorageView]:
        fsx, home = self.fleet.storage.fsx, self.fleet.storage.home
        storages: list[StorageView] = []
        if fsx is not None:
            file_system = fsx.existing.file_system_id if fsx.existing else _MADE_FSX
            storages.append(
                StorageView(name=FSX, kind=StorageKind.FSX_LUSTRE, mount_dir=fsx.mount_path, existing_id=file_system)
            )
        if home is not None:
            volume = (home.existing.volume_id if home.existing else None) or _MADE_VOLUME
            storages.append(
                StorageView(name=HOME, kind=StorageKind.FSX_OPEN_ZFS, mount_dir=home.mount_path, existing_id=volume)
            )
            storages += [
                StorageView(
                    name=name,
                    kind=StorageKind.FSX_OPEN_ZFS,
                    mount_dir=each.mount_path,
                    existing_id=_MADE_VOLUME[: -len(str(place))] + str(place),
                )
                for place, (name, each) in enumerate(home.volumes.items(), start=1)
            ]
        return storages
