"""Studio of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_bucket_keys import check_bucket_keys
from llm_fleet.config.sagemaker.studio import IdsOnClusters, StudioConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_roles import check_tags
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.cluster_reach import check_reached_names
from llm_fleet.rules.sagemaker.studio import check_same_ids, check_studio_place, studio_zones
from llm_fleet.rules.sagemaker.studio import check_studio as check_domain

_IN_FILE = {"lustre": "mount_fsx"}
"""By what the construct calls it, the attribute of the file."""
_REMEDIES = (
    ("give it a network", "write a `network` in place of `none`"),
    ("or leave the file system out", "or write `fsx: false`"),
    ("leave internet out", "leave `internet` out"),
)
"""What a stack of one's own would do, and what a fleet file says in its place."""


def check_studio(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with Studio of `fleet`, by attribute names."""
    config = fleet.studio
    if config is None:
        return
    ids = ids_on_clusters(fleet, config)
    studio, network = config.in_fleet(fleet.name, ids), fleet.network
    found = [
        *check_domain(studio),
        *check_studio_place(
            studio,
            has_network=network is not None,
            network_internet=fleet.way_out,
            zones=network.zones if network is not None else (),
            mounts_lustre=_mounts_lustre(fleet, config),
            lustre_zone=_lustre_zone(fleet, config),
        ),
        *(problem.under("users") for problem in check_same_ids(studio.users, ids)),
        *check_reached_names(config.clusters, known=fleet.clusters),
        *check_bucket_keys(config.bucket_keys, known=fleet.storage.buckets),
        *_check_directory(config, mounts_lustre=_mounts_lustre(fleet, config)),
        *check_tags(config.tags),
    ]
    yield from (_in_file(problem).under("studio") for problem in found)


def zones_of_studio(fleet: Fleet, config: StudioConfig) -> tuple[str, ...]:
    """Return the AZ ids of the domain's subnets."""
    zones = fleet.network.zones if fleet.network is not None else ()
    return studio_zones(zones, _lustre_zone(fleet, config))


def ids_on_clusters(fleet: Fleet, config: StudioConfig) -> IdsOnClusters:
    """Return the ids of people on the clusters that are reached, by cluster and name."""
    reached = {name: fleet.clusters[name] for name in config.clusters if name in fleet.clusters}
    return {
        name: {who.name: (who.uid, who.uid if who.gid is None else who.gid) for who in cluster.people.values()}
        for name, cluster in reached.items()
    }


def _mounts_lustre(fleet: Fleet, config: StudioConfig) -> bool:
    """Return whether there is a file system, and it is wanted."""
    return config.mount_fsx and fleet.storage.fsx is not None


def _lustre_zone(fleet: Fleet, config: StudioConfig) -> str | None:
    """Return where the file system stands; `None` where there is none, or the file does not say."""
    return fleet.zone_of_fsx if _mounts_lustre(fleet, config) else None


def _check_directory(config: StudioConfig, *, mounts_lustre: bool) -> Iterator[Problem]:
    if "lustre_directory" in config.model_fields_set and not mounts_lustre:
        yield Problem(
            code=Code.CONTRADICTION,
            message="there is no file system that this could be a directory of",
            remedy="remove it, or write `fsx` below `storage`" if config.mount_fsx else "remove it, or `fsx: false`",
            path=("lustre_directory",),
            value=config.lustre_directory,
        )


def _in_file(problem: Problem) -> Problem:
    remedy = problem.remedy
    for ours, theirs in _REMEDIES:
        remedy = remedy.replace(ours, theirs)
    path = (
        () if problem.path == ("network",) else (_IN_FILE.get(str(problem.path[0]), problem.path[0]), *problem.path[1:])
    )
    return replace(problem, path=path, remedy=remedy)
