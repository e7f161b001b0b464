"""What ParallelCluster takes: versions, operating systems, schedulers, regions, names and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A word that ParallelCluster once took."""

    since: str
    """The first version without it."""
    instead: str
    """What to write in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelClusterLimits:
    """Bounds of names and numbers."""

    cluster_name: Limit
    cluster_name_accounting: int
    """Longest name of a cluster with accounting outside of it: Slurm's tables begin with it."""
    part_name: Limit
    """Of a queue, compute resource or login pool."""
    storage_name: Limit
    reserved_names: tuple[str, ...]
    queues: Limit
    compute_resources: Limit
    """Of all queues together."""
    login_pools: Limit
    tags: int
    """Most tags of a node: those of the cluster, its queue and its compute resource together."""
    reserved_tag_prefix: str
    storage: Mapping[str, Mapping[str, int]]
    """Most shared storages by kind (`Ebs`, `raid`, `Efs`, `fsx`), `new` and `existing`, or of `any` sort."""
    data_repositories: int
    """Most associations of a Lustre file system."""
    nodes_per_gib: float
    """Compute nodes that a GiB of the head node's memory serves."""
    head_base_gib: float
    """GiB that the head node takes for itself."""
    head_most_gib: float
    """GiB that suffice for any number of nodes."""
    iam_prefix: int
    iam_path: int
    slurm_reconfigure_timeout: int
    """Seconds; more than this."""


DEFAULT_VERSION: str = load("parallelcluster")["default_version"]
CHECKED_LINE: str = load("parallelcluster")["checked_line"]
"""The versions whose schema and rules are those of this catalog: `3.16` stands for 3.16.0 and after."""


def versions() -> tuple[str, ...]:
    """Return the versions whose rules are checked here, oldest first."""
    return tuple(version for version in _facts()["slurm_by_version"] if line_of(version) == CHECKED_LINE)


def known_versions() -> tuple[str, ...]:
    """Return all versions that the catalog has heard of, oldest first."""
    return tuple(_facts()["slurm_by_version"])


def line_of(version: str) -> str:
    """Return major and minor of `version`, e.g. `3.16`."""
    return ".".join(version.split(".")[:2])


def slurm_of(version: str) -> str | None:
    """Return the version of Slurm in `version`; `None` where the catalog does not know."""
    return _facts()["slurm_by_version"].get(version)


def oses(version: str = DEFAULT_VERSION) -> tuple[str, ...]:
    """Return the operating systems of `version`; those of the checked line for one that is not known."""
    by_line = _facts()["oses_by_line"]
    return tuple(by_line.get(line_of(version), by_line[CHECKED_LINE]))


def image_size_gib(version: str) -> int | None:
    """Return the size of ParallelCluster's own images; `None` where it is not known."""
    sizes = _facts()["limits"]["image_size"]
    told = [size for since, size in sizes.items() if version in versions() and _parts(since) <= _parts(version)]
    return told[-1] if told else None


def old_python(os: str) -> str | None:
    """Return the version of the operating system's `python3` where the node scripts do not run on it, else `None`."""
    return _facts()["old_pythons"].get(os)


def private_oses() -> tuple[str, ...]:
    """Return the operating systems that ParallelCluster publishes no image of."""
    return tuple(_facts()["private_oses"])


def schedulers() -> tuple[str, ...]:
    """Return the schedulers."""
    return tuple(_facts()["schedulers"])


@cache
def gone(what: str) -> Mapping[str, Gone]:
    """Return the words of `oses` or `schedulers` that older versions took."""
    return MappingProxyType({word: Gone(**facts) for word, facts in _facts()["gone"][what].items()})


def parallelcluster_regions() -> tuple[str, ...]:
    """Return the regions in which ParallelCluster is published."""
    return tuple(_facts()["regions"])


def denied_slurm_settings(level: str) -> tuple[str, ...]:
    """Return the settings that ParallelCluster makes itself: of `slurm_conf`, `accounting`, `queue` or
    `compute_resource`."""
    return tuple(_facts()["slurm_denied"][level])


@cache
def parallelcluster_limits() -> ParallelClusterLimits:
    """Return the bounds that hold for every cluster."""
    facts = dict(_facts()["limits"])
    memory = facts.pop("head_memory")
    del facts["image_size"]
    bounds = {name: _limit(facts.pop(name)) for name in tuple(facts) if name in _BOUNDS}
    return ParallelClusterLimits(
        **bounds,
        reserved_names=tuple(facts.pop("reserved_names")),
        nodes_per_gib=memory["nodes_per_gib"],
        head_base_gib=memory["base_gib"],
        head_most_gib=memory["most_gib"],
        **facts,
    )


_BOUNDS = frozenset({"cluster_name", "part_name", "storage_name", "queues", "compute_resources", "login_pools"})


def _facts() -> Mapping[str, Any]:
    return load("parallelcluster")


def _limit(facts: Mapping[str, Any]) -> Limit:
    return Limit(minimum=facts.get("min"), maximum=facts.get("max"), pattern=facts.get("pattern"))


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
