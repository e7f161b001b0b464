"""What is known of a cluster as numbers over time: by our function, by its nodes, by ParallelCluster itself."""

from types import MappingProxyType

from llm_fleet.catalog.monitoring import (
    account_metrics,
    cluster_metrics,
    metrics_namespace,
    parallelcluster_metrics,
    start_failures_metric,
    starts_degraded_metric,
)
from llm_fleet.notifications.metric import ServiceMetric

_CLUSTER = "Cluster"
_STATISTIC = "Maximum"
PERIOD = 300
"""Seconds: our function looks so often, and nothing here changes faster than somebody is called."""


def account_metric(key: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return what our function publishes of `cluster` under our `key`, e.g. `nodes_failed`."""
    facts = account_metrics()
    return ServiceMetric(
        namespace=facts.namespace,
        name=facts.metrics[key],
        dimensions=MappingProxyType({facts.dimension: cluster}),
        statistic=_STATISTIC,
        period_seconds=PERIOD,
        label=label or facts.metrics[key],
    )


def node_metric(key: str, cluster: str, *, statistic: str = _STATISTIC, label: str = "") -> ServiceMetric:
    """Return what the nodes of `cluster` publish under `key` of the catalog's metrics, over all of them."""
    metric = cluster_metrics()[key]
    if (_CLUSTER,) not in metric.dimensions:
        raise KeyError(f"{key} is not published by cluster alone, and an alarm looks at nothing else")
    return _of_nodes(metric.name, cluster, statistic, label)


def failed_starts(cluster: str) -> ServiceMetric:
    """Return how many starts of nodes of `cluster` have failed in a step of their configuration."""
    return _of_nodes(start_failures_metric(), cluster, "Sum", "failed starts")


def degraded_starts(cluster: str) -> ServiceMetric:
    """Return how many nodes of `cluster` have started without something that jobs do not need, e.g. Lustre over EFA."""
    return _of_nodes(starts_degraded_metric(), cluster, "Sum", "degraded starts")


def parallelcluster_metric(name: str, cluster: str, *, label: str = "") -> ServiceMetric:
    """Return what ParallelCluster counts in its logs of `cluster`."""
    facts = parallelcluster_metrics()
    return ServiceMetric(
        namespace=facts.namespace,
        name=name,
        dimensions=MappingProxyType({facts.dimension: cluster}),
        statistic="Sum",
        period_seconds=PERIOD,
        label=label or name,
    )


def _of_nodes(name: str, cluster: str, statistic: str, label: str) -> ServiceMetric:
    return ServiceMetric(
        namespace=metrics_namespace(),
        name=name,
        dimensions=MappingProxyType({_CLUSTER: cluster}),
        statistic=statistic,
        period_seconds=PERIOD,
        label=label or name,
    )
