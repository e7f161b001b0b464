"""Words of metrics of clusters."""

from enum import StrEnum


class MetricsDestination(StrEnum):
    """Where nodes send what they measure of themselves."""

    CLOUDWATCH = "cloudwatch"
    """CloudWatch's metrics, by cluster and group, and a log with a line a node and minute."""
    PROMETHEUS = "prometheus"
    """A workspace of Amazon Managed Service for Prometheus, with a series a node."""
    NONE = "none"
    """Nowhere: nothing is measured."""
