"""Studio of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker.check_bucket_keys import check_bucket_keys
from llm_fleet.config.sagemaker.studio import StudioConfig
from llm_fleet.config.sagemaker.studio_view import ConfiguredStudio
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_names import check_tags
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.sagemaker.cluster_reach import check_reached_names
from llm_fleet.rules.sagemaker.studio import check_studio as check_domain
from llm_fleet.rules.sagemaker.studio_place import check_studio_place
from llm_fleet.rules.sagemaker.studio_users import check_same_ids

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
    studio = ConfiguredStudio(config=config, fleet=fleet)
    network = fleet.network
    found = [
        *check_domain(studio),
        *check_studio_place(
            studio,
            has_network=network is not None,
            network_internet=network.internet if network is not None and network.vpc is None else None,
            zones=network.availability_zone_ids if network is not None else (),
            mounts_lustre=studio.mounts_lustre,
            lustre_zone=studio.lustre_zone,
        ),
        *(problem.under("users") for problem in check_same_ids(studio.users, studio.ids_on_clusters())),
        *check_reached_names(config.clusters, known=fleet.clusters),
        *check_bucket_keys(config.bucket_keys, known=fleet.storage.buckets),
        *_check_directory(config, studio),
        *check_tags(config.tags),
    ]
    yield from (_in_file(problem, config).under("studio") for problem in found)


def _check_directory(config: StudioConfig, studio: ConfiguredStudio) -> Iterator[Problem]:
    if "lustre_directory" in config.model_fields_set and not studio.mounts_lustre:
        yield Problem(
            code=Code.CONTRADICTION,
            message="there is no file system that this could be a directory of",
            remedy="remove it, or write `fsx` below `storage`" if config.mount_fsx else "remove it, or `fsx: false`",
            path=("lustre_directory",),
            value=config.lustre_directory,
        )


def _in_file(problem: Problem, config: StudioConfig) -> Problem:
    remedy = problem.remedy
    for ours, theirs in _REMEDIES:
        remedy = remedy.replace(ours, theirs)
    return replace(problem, path=_path(problem.path, config), remedy=remedy)


def _path(path: tuple[PathPart, ...], config: StudioConfig) -> tuple[PathPart, ...]:
    if path == ("network",):
        return ()
    if path[:1] == ("users",) and isinstance(path[1], int):
        name = list(config.users)[path[1]]
        # A user's name is the key.
        return ("users", name) if path[2:] == ("name",) else ("users", name, *path[2:])
    return (_IN_FILE.get(str(path[0]), path[0]), *path[1:])
