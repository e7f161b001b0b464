"""The storage of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.check_volumes import check_volumes
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.fsx import FsxConfig
from llm_fleet.config.home import HomeConfig
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.data_repositories import check_data_repositories
from llm_fleet.rules.file_systems import check_log_group_name
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.mount_source import check_mount_source
from llm_fleet.rules.openzfs import check_open_zfs
from llm_fleet.rules.problem import Problem

_IN_BACKUPS = {
    "backup_retention_days": "retention_days",
    "backup_start_time": "start_time",
    "copy_tags_to_backups": "copy_tags",
}
"""What the rules know under one name, and the file under `backups`."""


def check_storage_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with file systems and buckets, by attribute names."""
    storage = fleet.storage
    if storage.fsx is not None:
        yield from (_in_file(problem).under("storage", "fsx") for problem in _check_fsx(storage.fsx, fleet.region))
    if storage.home is not None:
        yield from (_in_file(problem).under("storage", "home") for problem in _check_home(storage.home))
        yield from (problem.under("storage", "home", "volumes") for problem in check_volumes(fleet, storage.home))
    for name, bucket in storage.buckets.items():
        yield from (p.under("storage", "buckets", name) for p in check_bucket_name(bucket.bucket_name))


def _check_fsx(fsx: FsxConfig, region: str) -> Iterator[Problem]:
    if fsx.existing is not None:
        yield from _beside_existing(fsx)
        known = fsx.existing
        found = check_mount_source(
            file_system_id=known.file_system_id, dns_name=known.dns_name, mount_name=known.mount_name
        )
        yield from (problem.under("existing") for problem in found)
        return
    settings = replace(fsx.settings, region=region)
    yield from check_lustre(settings)
    yield from check_log_group_name(fsx.log_group)
    last = len(fsx.data_repositories)
    for problem in check_data_repositories(settings, fsx.repositories):
        # `import` is a data repository too, the last one.
        of_import = problem.path[:2] == ("data_repositories", last)
        whole_list = problem.path == ("data_repositories",) and not last
        yield replace(problem, path=("import_from",)) if of_import or whole_list else problem


def _check_home(home: HomeConfig) -> Iterator[Problem]:
    if home.existing is not None:
        yield from _beside_existing(home)
        found = check_mount_source(file_system_id=home.existing.file_system_id, dns_name=home.existing.dns_name)
        yield from (problem.under("existing") for problem in found)
        return
    yield from check_open_zfs(home.settings)


def _beside_existing(file_system: FsxConfig | HomeConfig) -> Iterator[Problem]:
    for attribute in sorted(file_system.model_fields_set - {"existing", "mount_path"}):
        yield Problem(
            code=Code.CONTRADICTION,
            message="this is for a file system to be made, and `existing` names one that is there",
            remedy="remove it, or remove `existing`",
            path=(attribute,),
            value=getattr(file_system, attribute),
        )


def _in_file(problem: Problem) -> Problem:
    """Return a problem of the settings where the file has them."""
    first = str(problem.path[0]) if problem.path else ""
    inner = _IN_BACKUPS.get(first)
    return replace(problem, path=("backups", inner)) if inner is not None else problem
