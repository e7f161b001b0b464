"""Everything that is wrong with a cluster: by the rules, and by what only the construct can know."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.rules.bundle import bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_roles import check_group_name
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_legacy
from llm_fleet.rules.hyperpod.instance_group import (
    check_cloudformation,
    check_lifecycle_source,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.scripts_place import check_scripts_place
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.hyperpod_cluster import PlacedCluster


def cluster_problems(cluster: PlacedCluster, lifecycle: LifecycleScripts | None) -> list[Problem]:
    """Return everything that is wrong with `cluster`."""
    problems = [problem for problem in check_cluster(cluster) if not _follows_name(problem, cluster)]
    for group in cluster.groups:
        problems += [problem.under("groups", group.name) for problem in check_cloudformation(group)]
    if not cluster.api_driven:
        problems += check_legacy(cluster)
    if lifecycle is not None:
        problems += [problem.under("lifecycle") for problem in _scripts(lifecycle)]
        if lifecycle.prefix is None:
            problems += _files(cluster, lifecycle)
    elif any(group.script for group in cluster.groups):
        problems += check_lifecycle_source(None, has_script=True)
    return problems


def _follows_name(problem: Problem, cluster: PlacedCluster) -> bool:
    """Whether a partition is misnamed because its group is: `InstanceGroup.workers` gives it the group's name."""
    if problem.code is not Code.PARTITION_NAME:
        return False
    return any(
        problem.path == ("groups", group.name, "partition")
        and group.partition == group.name
        and check_group_name(group)
        for group in cluster.groups
    )


def _files(cluster: PlacedCluster, lifecycle: LifecycleScripts) -> list[Problem]:
    """Scripts that a group is told to run and that are not in the folder to upload; those of the cluster told once."""
    folder = lifecycle.scripts or default_folder()
    of_cluster = ("lifecycle", "scripts" if lifecycle.entry_point is None else "entry_point")
    missing = [
        replace(problem, path=of_cluster) if problem.value == lifecycle.file_name() else problem
        for problem in _missing(cluster, folder)
    ]
    return list({problem.path: problem for problem in missing}.values())


def _missing(cluster: PlacedCluster, folder: Path) -> Iterator[Problem]:
    for group in cluster.groups:
        if group.on_create is not None and group.on_init_complete is not None:
            continue  # One of them must go: which one is to be decided first.
        for field in ("on_create", "on_init_complete"):
            name = getattr(group, field)
            if name is not None and not is_unresolved(name) and not (folder / name).is_file():
                yield Problem(
                    code=Code.BUNDLE_ENTRY_MISSING,
                    message="the script is not among those that are uploaded",
                    path=("groups", group.name, field),
                    value=name,
                    remedy=f"put it into {folder}, or say with LifecycleScripts(bucket=…, prefix=…) where it lies",
                )


def _scripts(lifecycle: LifecycleScripts) -> Iterator[Problem]:
    if lifecycle.bucket is not None:
        yield from (problem.under("bucket") for problem in bucket_name(lifecycle.bucket.bucket_name))
    yield from check_scripts_place(
        prefix=lifecycle.prefix, has_bucket=lifecycle.bucket is not None, scripts=lifecycle.scripts
    )
