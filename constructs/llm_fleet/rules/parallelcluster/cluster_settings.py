"""Settings of a whole cluster: version, scheduler, operating system, image, region, and custom Slurm settings."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llm_fleet.catalog.network import regions
from llm_fleet.catalog.parallelcluster import (
    DEFAULT_VERSION,
    Gone,
    denied_slurm_settings,
    gone,
    known_versions,
    line_of,
    old_python,
    oses,
    parallelcluster_regions,
    private_oses,
    schedulers,
    versions,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.slurm_database import keeps_records
from llm_fleet.rules.values import did_you_mean, nearest
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SlurmSettings
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue


@rule
def check_version(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that these rules support the version. A version made by `.of` passes."""
    version = cluster.version
    if is_unresolved(version) or is_unchecked(version) or version in versions():
        return
    if version in known_versions():
        message = f"the keys and rules of ParallelCluster {line_of(version)} differ from those that llm-fleet checks"
    else:
        message = "this ParallelCluster version is unknown"
    yield cluster.wrong(
        "version",
        Code.PC_VERSION,
        message,
        f"write `{DEFAULT_VERSION}`, or ParallelClusterVersion.of(…), in Python, for a version that is newer than this "
        "release of llm-fleet; another version requires a new cluster",
        allowed=", ".join(versions()),
    )


@rule
def check_scheduler(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that the scheduler is Slurm, the only one left (SchedulerValidator)."""
    scheduler = cluster.scheduler
    if is_unresolved(scheduler) or scheduler in schedulers():
        return
    died = gone("schedulers").get(scheduler.casefold())
    slurm = schedulers()[0]
    yield cluster.wrong(
        "scheduler",
        Code.PC_SCHEDULER,
        f"ParallelCluster does not support the scheduler {scheduler!r} since {died.since}"
        if died
        else f"ParallelCluster does not support the scheduler {scheduler!r}",
        f"write `{slurm}`; in job scripts `#PBS` lines become `#SBATCH` lines, and qsub becomes sbatch"
        if scheduler.casefold() in _PBS_LIKE
        else f"write `{slurm}` and start jobs by sbatch",
        allowed=", ".join(schedulers()),
    )


_PBS_LIKE = frozenset({"pbs", "openpbs", "pbspro", "torque"})
"""Batch systems whose scripts have `#PBS` lines (slurm.schedmd.com/rosetta.html)."""


@rule
def check_os(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that the version supports the operating system. One made by `.of` passes."""
    os, version = cluster.os, cluster.version
    # An older version is rejected anyway: what was removed since is reported in the same run.
    allowed = oses(version if version in versions() or is_unchecked(version) else DEFAULT_VERSION)
    if is_unresolved((os, version)) or is_unchecked(os) or os in allowed:
        return
    died: Gone | None = gone("oses").get(os.casefold())
    yield cluster.wrong(
        "os",
        Code.PC_OS,
        f"ParallelCluster does not support {os} since {died.since}"
        if died
        else f"ParallelCluster {version} does not support the operating system {os!r}",
        f"write `{died.instead}`; software that was built for {os} must be rebuilt"
        if died
        else did_you_mean(os, allowed, otherwise=f"write `{allowed[0]}`"),
        allowed=", ".join(allowed),
    )


@rule
def check_image_needed(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that an operating system without ParallelCluster images has a custom image (OsCustomAmiValidator)."""
    if cluster.image_id is not None or is_unresolved(cluster.os) or cluster.os not in private_oses():
        return
    public = [os for os in oses() if os not in private_oses()]
    yield cluster.wrong(
        "image_id",
        Code.PC_IMAGE,
        f"ParallelCluster publishes no image of {cluster.os}",
        f"build one with `pcluster build-image` of version {cluster.version} and write its ID for the cluster "
        f"(one for queues only is not enough), or write `{nearest(cluster.os, public) or public[0]}`",
        allowed="ami-…, built by the same version of ParallelCluster",
        value=None,
    )


@rule
def check_region(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that ParallelCluster is published in the region, and with it the template that makes clusters."""
    region, there = cluster.region, parallelcluster_regions()
    if not is_unresolved(region) and region not in there:
        yield cluster.wrong(
            "region",
            Code.PC_REGION,
            f"ParallelCluster is not published in {region}"
            if region in regions()
            else "AWS has no region with this name",
            did_you_mean(region, there, otherwise="write one of the allowed regions"),
            allowed=", ".join(name for name in there if name in regions()),
        )


def is_unchecked(value: str) -> bool:
    """Return whether `value` was made by an `of`, for values newer than this release of llm-fleet."""
    return bool(getattr(value, "unchecked", False))


def doubt_about_python(os: str) -> str | None:
    """Return why nodes of `os` may lack a Python version for the node scripts; `None` when they have one.

    This is a warning: the scripts then use the Python that ParallelCluster's AMIs have for its own use.
    assumption: parallelcluster-python-of-its-own
    """
    version = None if is_unresolved(os) else old_python(os)
    if version is None:
        return None
    return (
        f"python3 of {os} is {version}, but the node scripts require 3.9 to 3.13. Nodes use the Python that "
        "ParallelCluster installs for itself, and fail with LFN01 when there is none. "
        "Use rhel9, alinux2023, ubuntu2204 or ubuntu2404, or your own AMI with a newer Python on PATH"
    )


_SETTINGS = "Scheduling/SlurmSettings"
_OWN_LINES = frozenset({"nodename", "nodeset", "partitionname"})
"""Keys that begin a line of several settings in slurm.conf: custom nodes and partitions."""
_RESERVED_IN_NODE_NAMES = ("-st-", "-dy-")
_PROLOG_FOLDER = "put an executable into /opt/slurm/etc/scripts/{}.d, which all nodes share"
_INSTEAD = {
    "grestypes": "remove it: ParallelCluster configures NVIDIA GPUs. It does not count Neuron devices, so give "
    "jobs whole nodes by `exclusive`",
    "prolog": _PROLOG_FOLDER.format("prolog"),
    "epilog": _PROLOG_FOLDER.format("epilog"),
    "oversubscribe": "write `exclusive` for the queue",
    "suspendtime": "set scaledown_idletime_minutes",
    "weight": "set static_node_priority and dynamic_node_priority",
}


def check_slurm_conf(slurm: SlurmSettings) -> list[Problem]:
    """Check settings of slurm.conf (CustomSlurmSettingsValidator, CustomSlurmNodeNamesValidator).

    Stricter than ParallelCluster, which does not check maps of several keys: those that are not lines of nodes or
    partitions are checked here, since they are written to slurm.conf, too.
    """
    if is_unresolved(slurm.custom_settings):
        return []
    return [
        *(
            problem
            for index, line in enumerate(slurm.custom_settings)
            for problem in _check_line(line, "custom_settings", index)
        ),
        *_check_both(slurm),
        *check_keyed(
            f"{_SETTINGS}/ScaledownIdletime",
            slurm.scaledown_idletime_minutes,
            Code.PC_SETTING,
            "scaledown_idletime_minutes",
            what="the idle time of nodes",
            remedy="write minutes, or -1 to keep idle nodes",
        ),
    ]


def check_queue_settings(queue: Queue) -> list[Problem]:
    """Check the settings of a queue's line in slurm.conf."""
    return _check_denied(queue.custom_slurm_settings, "queue", "custom_slurm_settings")


def check_resource_settings(resource: ComputeResource) -> list[Problem]:
    """Check the settings of the nodes' line in slurm.conf."""
    return _check_denied(resource.custom_slurm_settings, "compute_resource", "custom_slurm_settings")


def check_accounting_settings(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that no setting conflicts with the accounting database.

    Stricter: with an external slurmdbd ParallelCluster writes these settings, too, but does not check for others.
    """
    if not keeps_records(cluster.accounting) or is_unresolved(cluster.slurm.custom_settings):
        return []
    return [
        problem
        for index, line in enumerate(cluster.slurm.custom_settings)
        for problem in _check_denied(line, "accounting", "slurm", "custom_settings", index)
    ]


def _check_line(line: Mapping[str, Any], *path: PathPart) -> list[Problem]:
    names = {key.casefold() for key in line}
    if names & _OWN_LINES and len(line) > 1:
        return _check_node_name(line, *path)
    return [*_check_denied(line, "slurm_conf", *path), *_check_node_name(line, *path)]


@rule
def _check_denied(settings: Mapping[str, Any], level: str, *path: PathPart) -> Iterator[Problem]:
    if is_unresolved(settings):
        return
    denied = {name.casefold(): name for name in denied_slurm_settings(level)}
    for key in settings:
        if key.casefold() in denied:
            yield Problem(
                code=Code.PC_SLURM_DENIED,
                message=f"ParallelCluster sets {denied[key.casefold()]} itself, so it cannot be set here",
                remedy=_INSTEAD.get(key.casefold(), "remove it"),
                path=(*path, key),
                value=settings[key],
                allowed=f"any Slurm setting except {', '.join(denied.values())}",
            )


@rule
def _check_node_name(line: Mapping[str, Any], *path: PathPart) -> Iterator[Problem]:
    for key, value in line.items():
        if key.casefold() == "nodename" and not is_unresolved(value) and _found(value):
            yield Problem(
                code=Code.PC_SLURM_NODE_NAME,
                message=f"ParallelCluster treats nodes with {' or '.join(_found(value))} in their names as its own",
                remedy=f"write `{re.sub('-(st|dy)-', '-', str(value))}`",
                path=(*path, key),
                value=value,
            )


def _check_both(slurm: SlurmSettings) -> Iterator[Problem]:
    """CustomSlurmSettingsIncludeFileOnlyValidator, and UrlValidator for the location of the file."""
    place = slurm.custom_settings_file
    if place is not None and slurm.custom_settings:
        yield slurm.wrong(
            "custom_settings_file",
            Code.PC_SLURM_BOTH,
            "Slurm settings are both here and in a file",
            "put all of them into the file, or all of them here; only those here are checked",
        )
    if place is not None and not is_unresolved(place) and not place.startswith(("s3://", "https://")):
        yield slurm.wrong(
            "custom_settings_file",
            Code.PC_SETTING,
            "ParallelCluster downloads the file from S3 or by https",
            "put the file into a bucket that the head node can read, and write its s3:// address",
            allowed="s3://… or https://…",
        )


def _found(value: object) -> Iterable[str]:
    return [repr(part) for part in _RESERVED_IN_NODE_NAMES if part in str(value)]
