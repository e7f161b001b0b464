"""A ParallelCluster of the fleet file with what the rest of the file says of it."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.spec.parallelcluster import SharedStorage
from llm_fleet.spec.parallelcluster_queue import Queue

FSX, HOME = "fsx", "home"
"""Names of the fleet's file systems in its clusters."""

_MADE_FSX, _MADE_VOLUME = "fs-00000000000000000", "fsvol-00000000000000000"
"""For ids that only the deployment knows."""


def shape_of(fleet: Fleet, config: ParallelClusterConfig) -> ClusterShape:
    """Return the cluster of `config` as the rules judge it: queues in the AZs that they stand in, with all storage."""
    zone = zone_of_parallelcluster(fleet, config)
    return ClusterShape(
        cluster_name=config.cluster_name,
        scheduler=config.scheduler,
        region=fleet.region,
        version=config.version,
        os=config.os,
        image_id=config.image_id,
        head_node=config.head_node,
        queues=[_placed(queue, zone) for queue in config.queues.values()],
        login_pools=tuple(config.login_pools.values()),
        shared_storage=[*_of_fleet(fleet), *config.shared_storage.values()],
        slurm=config.slurm,
        accounting=config.accounting,
        detailed_monitoring=config.detailed_monitoring,
        log_retention_days=config.log_retention_days,
        tags=config.tags,  # Those of the fleet are checked where they are written.
        overrides=config.overrides,
    )


def zone_of_parallelcluster(fleet: Fleet, config: ParallelClusterConfig) -> str | None:
    """Return the AZ of the cluster: as written, else that of the fleet's file system, else the network's first."""
    return config.availability_zone_id or fleet.zone_of_fsx or fleet.first_zone


def _placed(queue: Queue, zone: str | None) -> Queue:
    if queue.subnets:
        return queue
    return queue.model_copy(update={"availability_zone_id": queue.availability_zone_id or zone})


def _of_fleet(fleet: Fleet) -> Iterator[SharedStorage]:
    """Yield the fleet's own; those that it makes get their ids later, and an example stands for them here."""
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None:
        file_system = fsx.existing.file_system_id if fsx.existing else _MADE_FSX
        yield _handed_over(FSX, StorageKind.FSX_LUSTRE, fsx.mount_path, file_system)
    if home is not None:
        volume = (home.existing.volume_id if home.existing else None) or _MADE_VOLUME
        yield _handed_over(HOME, StorageKind.FSX_OPEN_ZFS, home.mount_path, volume)
        for place, (name, each) in enumerate(home.volumes.items(), start=1):
            volume = _MADE_VOLUME[: -len(str(place))] + str(place)
            yield _handed_over(name, StorageKind.FSX_OPEN_ZFS, each.mount_path, volume)


def _handed_over(name: str, kind: StorageKind, mount_dir: str, existing_id: str) -> SharedStorage:
    # Made without a check: the mount path may be a wrong value, which is reported where it is written.
    return SharedStorage.model_construct(name=name, kind=kind, mount_dir=mount_dir, existing_id=existing_id)
