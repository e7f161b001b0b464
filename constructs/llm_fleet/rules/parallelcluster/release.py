"""Version, scheduler, operating system, image and region of a cluster."""

from llm_fleet.catalog.network import regions
from llm_fleet.catalog.parallelcluster import (
    DEFAULT_VERSION,
    Gone,
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
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean, nearest
from llm_fleet.spec.parallelcluster import PlacedParallelCluster


def check_version(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that the rules here are those of the version. A version made by `.of` passes: its maker knows better."""
    version = cluster.version
    if is_unresolved(version) or is_unchecked(version) or version in versions():
        return []
    if version in known_versions():
        message = f"the keys and rules of ParallelCluster {line_of(version)} are others than those checked here"
    else:
        message = "no release of ParallelCluster of this version is known here"
    return [
        Problem(
            code=Code.PC_VERSION,
            message=message,
            remedy=f"write {DEFAULT_VERSION!r}, or ParallelClusterVersion.of(…), in Python, for one newer than this "
            "release of llm-fleet; another version is another cluster",
            path=("version",),
            value=version,
            allowed=", ".join(versions()),
        )
    ]


def check_scheduler(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that the scheduler is Slurm, the only one left (SchedulerValidator)."""
    scheduler = cluster.scheduler
    if is_unresolved(scheduler) or scheduler in schedulers():
        return []
    died = gone("schedulers").get(scheduler.casefold())
    slurm = schedulers()[0]
    return [
        Problem(
            code=Code.PC_SCHEDULER,
            message=f"ParallelCluster has had no scheduler {scheduler!r} since {died.since}"
            if died
            else f"ParallelCluster has no scheduler {scheduler!r}",
            remedy=f"write {slurm!r}; in job scripts `#PBS` lines become `#SBATCH` lines, and qsub becomes sbatch"
            if scheduler.casefold() in _PBS_LIKE
            else f"write {slurm!r} and start jobs by sbatch",
            path=("scheduler",),
            value=scheduler,
            allowed=", ".join(schedulers()),
        )
    ]


_PBS_LIKE = frozenset({"pbs", "openpbs", "pbspro", "torque"})
"""Batch systems whose scripts have `#PBS` lines (slurm.schedmd.com/rosetta.html)."""


def check_os(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that the version has the operating system. One made by `.of` passes: its maker knows better."""
    os, version = cluster.os, cluster.version
    # An older version is refused anyway: what has died since is told at once.
    allowed = oses(version if version in versions() or is_unchecked(version) else DEFAULT_VERSION)
    if is_unresolved((os, version)) or is_unchecked(os) or os in allowed:
        return []
    died: Gone | None = gone("oses").get(os.casefold())
    return [
        Problem(
            code=Code.PC_OS,
            message=f"ParallelCluster has had no {os} since {died.since}"
            if died
            else f"ParallelCluster {version} has no operating system {os!r}",
            remedy=f"write {died.instead!r}; software that was built for {os} is to be built anew"
            if died
            else did_you_mean(os, allowed, otherwise=f"write {allowed[0]!r}"),
            path=("os",),
            value=os,
            allowed=", ".join(allowed),
        )
    ]


def check_image_needed(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that an operating system without images of ParallelCluster's comes with one (OsCustomAmiValidator)."""
    if cluster.image_id is not None or is_unresolved(cluster.os) or cluster.os not in private_oses():
        return []
    public = [os for os in oses() if os not in private_oses()]
    return [
        Problem(
            code=Code.PC_IMAGE,
            message=f"ParallelCluster publishes no image of {cluster.os}",
            remedy=f"build one with `pcluster build-image` of version {cluster.version} and give its id to the cluster "
            f"(one for queues only is not enough), or write {nearest(cluster.os, public) or public[0]!r}",
            path=("image_id",),
            allowed="ami-…, built by the same version of ParallelCluster",
        )
    ]


def check_region(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that ParallelCluster is published in the region, and with it the template that makes clusters."""
    region, there = cluster.region, parallelcluster_regions()
    if is_unresolved(region) or region in there:
        return []
    return [
        Problem(
            code=Code.PC_REGION,
            message=f"ParallelCluster is not published in {region}"
            if region in regions()
            else "AWS has no region of this name",
            remedy=did_you_mean(region, there, otherwise="take one of the allowed"),
            path=("region",),
            value=region,
            allowed=", ".join(name for name in there if name in regions()),
        )
    ]


def is_unchecked(value: str) -> bool:
    """Return whether `value` was made by an `of`, which says what is newer than this release of llm-fleet."""
    return bool(getattr(value, "unchecked", False))


def doubt_about_python(os: str) -> str | None:
    """Return what makes it doubtful that nodes of `os` have a Python for the node scripts; `None` when nothing does.

    No problem that is refused: ParallelCluster's AMIs have one for its own use, which the scripts take then.
    assumption: parallelcluster-python-of-its-own
    """
    version = None if is_unresolved(os) else old_python(os)
    if version is None:
        return None
    return (
        f"python3 of {os} is {version}, and the node scripts run on 3.9 to 3.13: nodes use the Python that "
        "ParallelCluster has brought for itself, and end with LFN01 where there is none. "
        "Take rhel9, alinux2023, ubuntu2204 or ubuntu2404, or an AMI of your own with a newer Python on PATH"
    )
