"""The fleet's file systems as shared storage: made elsewhere and handed over by id, so that they outlive a cluster."""

from dataclasses import replace

from llm_fleet.parallelcluster.shared_storage import SharedStorage
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.storage.mountable import MountableLustre, MountableOpenZfs

LUSTRE = "fsx"
OPEN_ZFS = "home"
"""Their names in `SharedStorage`; a changed one is another mount."""


def fleet_storage(
    lustre: MountableLustre | None, lustre_path: str, open_zfs: MountableOpenZfs | None, open_zfs_path: str
) -> tuple[list[SharedStorage], list[Problem]]:
    """Return what is mounted of the fleet's file systems, and what keeps it from being mounted."""
    mounted: list[SharedStorage] = []
    problems: list[Problem] = []
    if lustre is not None:
        try:
            mounted.append(SharedStorage.lustre(LUSTRE, mount_dir=lustre_path, file_system_id=lustre.file_system_id))
        except FleetError as error:
            problems += _of_path(error, "lustre")
    if open_zfs is not None and open_zfs.volume_id is None:
        problems.append(
            Problem(
                code=Code.PC_OPEN_ZFS_VOLUME,
                message="ParallelCluster mounts OpenZFS by a volume, and nobody told which",
                path=("open_zfs", "volume_id"),
                remedy="give from_attributes the volume_id, as `aws fsx describe-volumes` shows it ('fsvol-…')",
            )
        )
    elif open_zfs is not None:
        try:
            mounted.append(
                SharedStorage.open_zfs(OPEN_ZFS, mount_dir=open_zfs_path, volume_id=open_zfs.volume_id or "")
            )
        except FleetError as error:
            problems += _of_path(error, "open_zfs")
    return mounted, problems


def _of_path(error: FleetError, which: str) -> list[Problem]:
    """Return the problems of a mount as those of the cluster's parameters."""
    return [
        replace(problem, path=(f"{which}_mount_path",)) if problem.path[:1] == ("mount_dir",) else problem.under(which)
        for problem in error.problems
    ]
