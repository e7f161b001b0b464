"""Where what nodes measure of themselves goes."""

from dataclasses import dataclass
from typing import Self

import aws_cdk as cdk

from llm_fleet.catalog.monitoring import metrics_retention_days
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination
from llm_fleet.rules.tokens import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetrics:
    """What nodes measure of themselves each minute, and where it goes. Make one with `cloudwatch` or `prometheus`.

    Processors, memory and disks, Neuron devices or GPUs, EFA, Lustre and, by the controller, Slurm's queue and nodes:
    `llm_fleet.catalog.monitoring` names them all. Nothing is downloaded for it.
    """

    destination: MetricsDestination
    retention_days: int | None = None
    workspace_arn: str | None = None

    @classmethod
    def cloudwatch(cls, *, retention_days: int | None = None) -> Self:
        """To CloudWatch, by cluster and group: a line a node and minute in the log `/llm-fleet/metrics/<cluster>`.

        `retention_days`: how long the lines are kept; default, 14. The metrics made of them stay for 15 months.
        """
        return cls(destination=MetricsDestination.CLOUDWATCH, retention_days=retention_days)

    @classmethod
    def prometheus(cls, *, workspace_arn: str) -> Self:
        """To a workspace of Amazon Managed Service for Prometheus of the cluster's region, with a series a node.

        `workspace_arn`: may be a token; `PrometheusWorkspace` makes a workspace.
        """
        return cls(destination=MetricsDestination.PROMETHEUS, workspace_arn=workspace_arn)

    @property
    def log_days(self) -> int:
        """For how many days CloudWatch Logs keeps the lines."""
        return metrics_retention_days() if self.retention_days is None else self.retention_days

    @property
    def remote_write_url(self) -> str | None:
        """Where nodes write to; `None` for CloudWatch. A token when the ARN is one."""
        if self.workspace_arn is None:
            return None
        region, workspace = _parts(self.workspace_arn)
        return f"https://aps-workspaces.{region}.amazonaws.com/workspaces/{workspace}/api/v1/remote_write"


def _parts(arn: str) -> tuple[str, str]:
    """Return region and workspace id of `arn:aws:aps:<region>:<account>:workspace/<id>`."""
    if is_unresolved(arn):
        return cdk.Fn.select(3, cdk.Fn.split(":", arn)), cdk.Fn.select(1, cdk.Fn.split("/", arn))
    return arn.split(":")[3], arn.rpartition("/")[2]
