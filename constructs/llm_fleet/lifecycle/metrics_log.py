"""The log of what nodes measure of themselves."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import metrics_log_group
from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination


class MetricsLog(Construct):
    """The log group `/llm-fleet/metrics/<cluster>`, of whose lines CloudWatch makes metrics.

    It goes with its cluster: the metrics stay, for the 15 months that CloudWatch keeps any.
    """

    def __init__(self, scope: Construct, id: str, *, cluster_name: str, retention_days: int) -> None:
        """Make the group; a line is kept for `retention_days`."""
        super().__init__(scope, id)
        self.log_group = logs.CfnLogGroup(
            self, "Resource", log_group_name=metrics_log_group(cluster_name), retention_in_days=retention_days
        )
        """The L1 beneath."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        acknowledge(
            self,
            "CloudWatch Logs encrypts every log group with a key of its own; the lines hold numbers, names of nodes "
            "and the reasons that Slurm has for drained ones",
            "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
        )

    @classmethod
    def of(cls, scope: Construct, metrics: ClusterMetrics | None, *, cluster_name: str) -> "MetricsLog | None":
        """Return the log that `metrics` ask for; `None` where they go elsewhere, or nowhere."""
        if metrics is None or metrics.destination is not MetricsDestination.CLOUDWATCH:
            return None
        return cls(scope, "MetricsLog", cluster_name=cluster_name, retention_days=metrics.log_days)
