"""Formats a sample as a line of CloudWatch's embedded metric format.

docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

Log lines instead of PutMetricData, because of costs: CloudWatch charges for each PutMetricData request, and for each
metric with its own dimensions. 2,000 nodes that send each minute make 86 million requests a month, and 2,000 nodes with
their own dimension 40,000 metrics. A log line costs only its bytes; CloudWatch aggregates the lines of all nodes to one
metric by cluster and one by group, with mean, sum, extremes and count; and the values of a single node are in its line,
for Logs Insights. docs/constructs/cluster-metrics.md has the calculation.
"""

from __future__ import annotations

import json
from typing import Any

from llm_fleet_node.metrics.names import METRICS
from llm_fleet_node.metrics.sample import Sample
from llm_fleet_node.metrics.settings import Settings

_OF_CLUSTER = [["Cluster"]]
_OF_NODES = [["Cluster"], ["Cluster", "Group"]]


def line(sample: Sample, settings: Settings) -> str:
    """Return the line for `sample`."""
    numbers = sample.numbers
    of_nodes = [key for key in numbers if not METRICS[key].of_cluster]
    of_cluster = [key for key in numbers if METRICS[key].of_cluster]
    directives = [
        _directive(settings.namespace, dimensions, keys)
        for dimensions, keys in ((_OF_NODES, of_nodes), (_OF_CLUSTER, of_cluster))
        if keys
    ]
    document: dict[str, Any] = {
        "_aws": {"Timestamp": sample.milliseconds, "CloudWatchMetrics": directives},
        "Cluster": settings.cluster,
        "Group": settings.group,
        "Fleet": settings.fleet,
        "Node": settings.node,
        "Role": settings.role,
        "InstanceType": settings.instance_type,
        **{METRICS[key].name: value for key, value in numbers.items()},
        **sample.reading.details,
    }
    if sample.reading.broken:
        document["Unread"] = {name: sample.reading.absent[name] for name in sorted(sample.reading.broken)}
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _directive(namespace: str, dimensions: list[list[str]], keys: list[str]) -> dict[str, Any]:
    metrics = [{"Name": METRICS[key].name, "Unit": METRICS[key].unit} for key in keys]
    return {"Namespace": namespace, "Dimensions": dimensions, "Metrics": metrics}
