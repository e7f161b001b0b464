"""The storage of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.check_parallelcluster import FSX, HOME
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.storage import FleetLustre, FleetOpenZfs
from llm_fleet.rules.buckets import check_bucket
from llm_fleet.rules.codes import Code
from llm_fleet.rules.data_repositories import check_data_repositories
from llm_fleet.rules.file_systems import check_mount_source
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.open_zfs import check_open_zfs, check_volume
from llm_fleet.rules.problem import Problem


def check_storage(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with file systems and buckets, by attribute names."""
    storage = fleet.storage
    if storage.fsx is not None:
        yield from (problem.under("storage", "fsx") for problem in _check_fsx(storage.fsx))
    if storage.home is not None:
        yield from (problem.under("storage", "home") for problem in _check_home(storage.home))
        yield from (problem.under("storage", "home", "volumes") for problem in _check_volumes(fleet, storage.home))
    for name, bucket in storage.buckets.items():
        yield from (p.under("storage", "buckets", name) for p in check_bucket(bucket))


def _check_fsx(fsx: FleetLustre) -> Iterator[Problem]:
    if fsx.existing is not None:
        yield from _beside_existing(fsx)
        yield from (problem.under("existing") for problem in check_mount_source(fsx.existing))
        return
    yield from check_lustre(fsx)
    last = len(fsx.data_repositories)
    for problem in check_data_repositories(fsx, fsx.repositories):
        # `import` is a data repository too, the last one.
        of_import = problem.path[:2] == ("data_repositories", last)
        whole_list = problem.path == ("data_repositories",) and not last
        yield replace(problem, path=("import_from",)) if of_import or whole_list else problem


def _check_home(home: FleetOpenZfs) -> Iterator[Problem]:
    if home.existing is not None:
        yield from _beside_existing(home)
        yield from (problem.under("existing") for problem in check_mount_source(home.existing))
        return
    yield from check_open_zfs(home)


def _beside_existing(file_system: FleetLustre | FleetOpenZfs) -> Iterator[Problem]:
    for attribute in sorted(file_system.model_fields_set - {"existing", "mount_path"}):
        yield Problem(
            code=Code.CONTRADICTION,
            message="this is for a file system to be made, and `existing` names one that is there",
            remedy="remove it, or remove `existing`",
            path=(attribute,),
            value=getattr(file_system, attribute),
        )


def _check_volumes(fleet: Fleet, home: FleetOpenZfs) -> Iterator[Problem]:
    """Return what is wrong with the volumes of `home`, by the keys below `volumes`.

    Where they are mounted is for the rules of each cluster.
    """
    if not home.volumes or home.existing is not None:  # beside an existing file system the key itself is refused
        return
    if fleet.clusters and not fleet.parallelclusters:
        yield _nobody_mounts(home)
    taken = _taken(fleet, home)
    for name, volume in home.volumes.items():
        found = check_volume(volume, name, capacity_gib=home.storage_capacity_gib, taken=taken)
        yield from (replace(p, path=(name,) if p.path == ("name",) else (name, *p.path)) for p in found)


def _taken(fleet: Fleet, home: FleetOpenZfs) -> dict[str, str]:
    taken: dict[str, str] = dict.fromkeys((FSX, HOME), "clusters know a file system of the fleet by this name already")
    if home.mount_path.rstrip("/") != "/home":
        return taken
    # FSx puts a volume into the root volume, as a directory of the volume's name.
    users = {name for cluster in fleet.clusters.values() for name in cluster.people}
    return taken | dict.fromkeys(users, "a user has this name, and FSx puts the volume where that user's home is to be")


def _nobody_mounts(home: FleetOpenZfs) -> Problem:
    return Problem(
        code=Code.OPEN_ZFS_VOLUME_UNMOUNTED,
        message="HyperPod's nodes mount one OpenZFS file system, by its root volume, and no other volume of it",
        remedy="use a directory of `home` or of `fsx` instead, and remove `volumes`",
        value=", ".join(home.volumes),
    )
