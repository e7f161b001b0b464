"""Managed Prometheus and Grafana, and the dashboard there.

Grafana's dashboard of clusters, made of the catalog's metrics.

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

    It is retained when its stack goes: what was measured bears witness of runs that are over. Prometheus keeps samples
    for 150 days.
    """

    def __init__(
        self, scope: Construct, id: str, *, alias: str | None = None, encryption_key: kms.IKey | None = None
    ) -> None:
        """Make a workspace.

        `alias`: what the console shows of it; default, none. `encryption_key`: default one of its own, which rotates
        every year and is retained too: without it nothing can be read any more.
        """
        super().__init__(scope, id)
        key = encryption_key or kms.Key(
            self,
            "Key",
            description="Encrypts what nodes of LLM clusters measure of themselves",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        self.encryption_key = cast(kms.IKey, key)
        """What encrypts it."""
        self.resource = aps.CfnWorkspace(self, "Resource", alias=alias, kms_key_arn=self.encryption_key.key_arn)
        """The L1 beneath, as the way out."""
        self.resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)

    @property
    def workspace_arn(self) -> str:
        """Its ARN, a token."""
        return self.resource.attr_arn

    @property
    def metrics(self) -> ClusterMetrics:
        """Where metrics go, for `metrics` of a cluster in the same region: the nodes may then write to it."""
        return ClusterMetrics.prometheus(workspace_arn=self.workspace_arn)

    def add_outputs(self) -> None:
        """Give the stack outputs: its ARN, and the address that Grafana asks."""
        cdk.CfnOutput(self, "WorkspaceArn", value=self.workspace_arn, description="ARN of the Prometheus workspace")
        cdk.CfnOutput(
            self,
            "QueryEndpoint",
            value=self.resource.attr_prometheus_endpoint,
            description="Address of the workspace, as a Prometheus data source of Grafana with SigV4 takes it",
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
"""Values of which only the sum over the nodes says something, beside rates and counts of EFA."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24


def grafana_dashboard() -> dict[str, Any]:
    """Return the dashboard as JSON has it, to be imported: it asks for its data source, and offers every cluster."""
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
    """Return what is asked, and how the lines are called: of the queue one line, of nodes groups and extremes.

    Not a line a node: a cluster of 2,000 would be a wall of lines. The worst one is drawn with its name.
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
_WHY = "Grafana's page of data sources lists the workspaces of the account; the action knows no single one"


class GrafanaWorkspace(Construct):
    """A workspace of Amazon Managed Grafana (`AWS::Grafana::Workspace`) with the right to ask one Prometheus workspace.

    People sign in by IAM Identity Center, which must be there in the account's organisation: who may is told in the
    console or by `aws grafana update-permissions`, since CloudFormation has nothing for it. Grafana is paid for each
    person who signs in. The dashboard to import is `examples/grafana/llm-fleet-cluster.json`.
    """

    def __init__(self, scope: Construct, id: str, *, name: str, prometheus_arn: str) -> None:
        """Make a workspace called `name` that may ask the Prometheus workspace `prometheus_arn`, and no other."""
        super().__init__(scope, id)
        account = cdk.Stack.of(self).account
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What Grafana may ask of a Prometheus workspace",
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
            description="Lets Grafana ask a Prometheus workspace",
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
        """The L1 beneath, as the way out."""

    def add_outputs(self) -> None:
        """Give the stack an output: where people sign in."""
        cdk.CfnOutput(self, "Address", value=self.resource.attr_endpoint, description="Where people open Grafana")
