"""The volumes of the fleet's OpenZFS file system; where they are mounted is for the rules of each cluster."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.home import HomeConfig
from llm_fleet.config.parallelcluster.view import FSX, HOME
from llm_fleet.rules.codes import Code
from llm_fleet.rules.openzfs_volumes import check_volume
from llm_fleet.rules.problem import Problem


def check_volumes(fleet: Fleet, home: HomeConfig) -> Iterator[Problem]:
    """Return what is wrong with the volumes of `home`, by the keys below `volumes`."""
    if not home.volumes or home.existing is not None:  # beside an existing file system the key itself is refused
        return
    if fleet.clusters and not fleet.parallelclusters:
        yield _nobody_mounts(home)
    taken = _taken(fleet, home)
    for name, volume in home.volumes.items():
        found = check_volume(name=name, quota_gib=volume.quota_gib, capacity_gib=home.storage_capacity_gib, taken=taken)
        yield from (replace(p, path=(name,) if p.path == ("name",) else (name, *p.path)) for p in found)


def _taken(fleet: Fleet, home: HomeConfig) -> dict[str, str]:
    taken: dict[str, str] = dict.fromkeys((FSX, HOME), "clusters know a file system of the fleet by this name already")
    if home.mount_path.rstrip("/") != "/home":
        return taken
    # FSx puts a volume into the root volume, as a directory of the volume's name.
    users = {name for cluster in fleet.clusters.values() for name in cluster.people}
    return taken | dict.fromkeys(users, "a user has this name, and FSx puts the volume where that user's home is to be")


def _nobody_mounts(home: HomeConfig) -> Problem:
    return Problem(
        code=Code.OPEN_ZFS_VOLUME_UNMOUNTED,
        message="HyperPod's nodes mount one OpenZFS file system, by its root volume, and no other volume of it",
        remedy="use a directory of `home` or of `fsx` instead, and remove `volumes`",
        value=", ".join(home.volumes),
    )
