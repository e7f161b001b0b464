"""Amazon Managed Service for Prometheus, Amazon Managed Grafana, and a Grafana dashboard.

The dashboard of clusters is generated from the catalog's metrics. Format:

grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model
"""

from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_aps as aps
from aws_cdk import aws_grafana as grafana
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.catalog.monitoring import ClusterMetric, cluster_metrics
from llm_fleet.spec.monitoring import ClusterMetrics


class PrometheusWorkspace(Construct):
    """A workspace of Amazon Managed Service for Prometheus (`AWS::APS::Workspace`).

    It is retained when its stack is deleted, since it has the history of past runs. Prometheus keeps samples for 150
    days.
    """

    def __init__(
        self, scope: Construct, id: str, *, alias: str | None = None, encryption_key: kms.IKey | None = None
    ) -> None:
        """Create a workspace.

        `alias`: its name in the console; default: none. `encryption_key`: default: a new one, which rotates every year
        and is retained, too: without it the data is unreadable.
        """
        super().__init__(scope, id)
        key = encryption_key or kms.Key(
            self,
            "Key",
            description="Encrypts metrics of nodes of LLM clusters",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        self.encryption_key = cast(kms.IKey, key)
        """KMS key of the workspace."""
        self.resource = aps.CfnWorkspace(self, "Resource", alias=alias, kms_key_arn=self.encryption_key.key_arn)
        """The L1 construct, as escape hatch."""
        self.resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)

    @property
    def workspace_arn(self) -> str:
        """The ARN, a CDK token."""
        return self.resource.attr_arn

    @property
    def metrics(self) -> ClusterMetrics:
        """Return the value for `metrics` of a cluster in the same region, which lets its nodes write to it."""
        return ClusterMetrics.prometheus(workspace_arn=self.workspace_arn)

    def add_outputs(self) -> None:
        """Add stack outputs: its ARN, and its query endpoint for Grafana."""
        cdk.CfnOutput(self, "WorkspaceArn", value=self.workspace_arn, description="ARN of the Prometheus workspace")
        cdk.CfnOutput(
            self,
            "QueryEndpoint",
            value=self.resource.attr_prometheus_endpoint,
            description="URL of the workspace for a Prometheus data source of Grafana with SigV4",
        )


_UNITS = {"Percent": "percent", "Bytes/Second": "Bps", "Seconds": "s", "Count": "short", "None": "short"}
_ROWS = {
    "slurm": "Slurm's queue and nodes",
    "accelerator": "Accelerators",
    "node": "Nodes",
    "efa": "EFA",
    "lustre": "Lustre",
}
_ADDED_UP = ("nodes_reporting", "accelerators", "accelerators_idle", "accelerator_errors")
"""Metrics that are summed over the nodes, in addition to rates and counts of EFA."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24


def grafana_dashboard() -> dict[str, Any]:
    """Return the dashboard's JSON for import, with variables for data source and cluster."""
    return {
        "uid": "llm-fleet-cluster",
        "title": "llm-fleet: a cluster",
        "tags": ["llm-fleet"],
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_choice_of_source(), _choice_of_cluster(), _choice_of_group()]},
        "panels": _panels(),
    }


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    y = 0
    for source, title in _ROWS.items():
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": _place(0, y, _COLUMNS, 1)})
        y += 1
        metrics = [metric for metric in cluster_metrics().values() if metric.source == source]
        for index, metric in enumerate(metrics):
            column, row = index * _WIDTH % _COLUMNS, index * _WIDTH // _COLUMNS
            place = _place(column, y + row * _HEIGHT, _WIDTH, _HEIGHT)
            panels.append(_panel(len(panels) + 1, metric, place))
        y += -(-len(metrics) * _WIDTH // _COLUMNS) * _HEIGHT
    return panels


def _panel(id: int, metric: ClusterMetric, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": id,
        "type": "timeseries",
        "title": metric.name,
        "description": metric.meaning,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": _UNITS[metric.unit], "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for n, (expression, legend) in enumerate(_queries(metric))
        ],
    }


def _queries(metric: ClusterMetric) -> list[tuple[str, str]]:
    """Return queries and legends: one line for the queue; groups and extremes for nodes.

    Not one line for each node: a cluster with 2,000 would be unreadable. The worst node is drawn with its name.
    """
    if metric.source == "slurm":
        return [(f'{metric.prometheus_name}{{cluster="$cluster"}}', metric.name)]
    series = f'{metric.prometheus_name}{{cluster="$cluster",group=~"$group"}}'
    if metric.key in _ADDED_UP or metric.source == "efa" or metric.key in ("lustre_read", "lustre_written"):
        return [(f"sum by (group) ({series})", "{{group}}")]
    worst = "bottomk" if metric.key in ("lustre_answering", "uptime") else "topk"
    return [(f"avg by (group) ({series})", "{{group}}, mean"), (f"{worst}(1, {series})", "{{instance}}")]


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _choice_of_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _choice_of_cluster() -> dict[str, Any]:
    query = "label_values(llm_fleet_nodes_reporting, cluster)"
    return {"name": "cluster", "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2}


def _choice_of_group() -> dict[str, Any]:
    query = 'label_values(llm_fleet_nodes_reporting{cluster="$cluster"}, group)'
    return {
        **{"name": "group", "type": "query", "datasource": _SOURCE, "query": query, "refresh": 2},
        **{"includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}},
    }


_SERVICE = "grafana.amazonaws.com"
_QUERIES = ("aps:QueryMetrics", "aps:GetLabels", "aps:GetSeries", "aps:GetMetricMetadata", "aps:DescribeWorkspace")
_WHY = "Grafana's data source page lists the workspaces of the account; the action supports no resource"


class GrafanaWorkspace(Construct):
    """A workspace of Amazon Managed Grafana (`AWS::Grafana::Workspace`) that can query one Prometheus workspace.

    Users sign in through IAM Identity Center, which the account's organization must have. Assign users in the console
    or with `aws grafana update-permissions`, since CloudFormation does not support it. Grafana is billed for each user
    who signs in. Import the dashboard `examples/grafana/llm-fleet-cluster.json`.
    """

    def __init__(self, scope: Construct, id: str, *, name: str, prometheus_arn: str) -> None:
        """Create a workspace `name` that can query only the Prometheus workspace `prometheus_arn`."""
        super().__init__(scope, id)
        account = cdk.Stack.of(self).account
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="Lets Grafana query one Prometheus workspace",
            statements=[
                iam.PolicyStatement(sid="Ask", actions=list(_QUERIES), resources=[prometheus_arn]),
                iam.PolicyStatement(sid="Find", actions=["aps:ListWorkspaces"], resources=["*"]),
            ],
        )
        acknowledge_wildcards(policy, lambda: {"*": _WHY})
        principal = iam.ServicePrincipal(_SERVICE, conditions={"StringEquals": {"aws:SourceAccount": account}})
        role = iam.Role(
            self,
            "Role",
            description="Role of Grafana, to query a Prometheus workspace",
            assumed_by=cast(iam.IPrincipal, principal),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.resource = grafana.CfnWorkspace(
            self,
            "Resource",
            name=name,
            account_access_type="CURRENT_ACCOUNT",
            authentication_providers=["AWS_SSO"],
            permission_type="CUSTOMER_MANAGED",
            data_sources=["PROMETHEUS"],
            role_arn=role.role_arn,
        )
        """The L1 construct, as escape hatch."""

    def add_outputs(self) -> None:
        """Add a stack output: the URL for sign-in."""
        cdk.CfnOutput(self, "Address", value=self.resource.attr_endpoint, description="URL of Grafana")
