"""What nodes of clusters measure of themselves, and under which names it is found."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import load

_SUFFIXES = {"Percent": "_percent", "Bytes/Second": "_bytes_per_second", "Seconds": "_seconds"}
"""What names of Prometheus end in, by CloudWatch's unit (prometheus.io/docs/practices/naming)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetric:
    """One value that nodes publish each minute. CloudWatch has its mean, sum, extremes and count over the nodes."""

    key: str
    """Its name in programs, e.g. `root_disk_used`."""
    name: str
    """Its name in CloudWatch, e.g. `RootDiskUsed`."""
    unit: str
    """As CloudWatch says it, e.g. `Percent`."""
    source: str
    """What it is read of: `node`, `accelerator`, `efa`, `lustre`, or `slurm` on the controller alone."""
    dimensions: tuple[tuple[str, ...], ...]
    """The sets of dimensions it is published with: `Cluster`, and `Cluster` with `Group`."""
    meaning: str
    """What it tells, in a few words."""

    @property
    def prometheus_name(self) -> str:
        """Its name in Prometheus, e.g. `llm_fleet_root_disk_used_percent`: a gauge."""
        return f"llm_fleet_{self.key}{_SUFFIXES.get(self.unit, '')}"


@cache
def cluster_metrics() -> Mapping[str, ClusterMetric]:
    """Return every metric by its key."""
    facts: Mapping[str, dict[str, Any]] = _facts()["metrics"]
    return MappingProxyType({key: _metric(key, fact) for key, fact in facts.items()})


def metrics_namespace() -> str:
    """Return CloudWatch's namespace of all of them; that of the metric of failed starts, too."""
    return _facts()["namespace"]


def metrics_log_group(cluster_name: str) -> str:
    """Return the name of the log group that nodes of `cluster_name` write their lines to."""
    return f"{_facts()['log_group_prefix']}/{cluster_name}"


def metrics_seconds() -> int:
    """Return how many seconds lie between two values of a node."""
    return _facts()["seconds"]


def metrics_retention_days() -> int:
    """Return for how many days the lines are kept unless told."""
    return _facts()["retention_days"]


def workspace_arn_pattern() -> str:
    """Return what the ARN of a workspace of Amazon Managed Service for Prometheus looks like, in whole."""
    return _facts()["workspace_arn"]


def _metric(key: str, fact: dict[str, Any]) -> ClusterMetric:
    return ClusterMetric(
        key=key,
        name=fact["name"],
        unit=fact["unit"],
        source=fact["source"],
        dimensions=tuple(tuple(names) for names in fact["dimensions"]),
        meaning=fact["meaning"],
    )


def _facts() -> dict[str, Any]:
    return load("cluster_metrics")
