"""Metrics of nodes: in the fleet file and the constructs, permissions of nodes, and Grafana's dashboard."""

import json
import os
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Match, Template

from llm_fleet.catalog.monitoring import cluster_metrics
from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.hyperpod.hyperpod_cluster import HyperPodCluster
from llm_fleet.monitoring.grafana import grafana_dashboard
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import EndpointFeature
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.clean import nag_findings
from tools.synth_environment import ROOT

DASHBOARD = ROOT / "examples" / "grafana" / "llm-fleet-cluster.json"
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-12345678-1234-1234-1234-123456789012"
FLEET = """
fleet: metrics
region: us-west-2
network: {az: usw2-az4, compute_cidr: 10.1.0.0/20, internet: none}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
monitoring:
  metrics: METRICS
"""


def fleet(metrics: str) -> str:
    return FLEET.replace("METRICS", metrics)


@pytest.mark.parametrize(
    ("metrics", "where", "code", "remedy"),
    [
        ("{to: cloudwatch, retention: 15 days}", "monitoring.metrics.retention", "LF1150", "write 14 days"),
        ("{to: prometheus, workspace: ws-1}", "monitoring.metrics.workspace", "LF1151", "aws amp list-workspaces"),
        ("{to: cloudwatch, grafana: true}", "monitoring.metrics.grafana", "LF1152", "destination prometheus"),
        ("{to: prometheus, retention: 14 days}", "monitoring.metrics.retention", "LF1152", "destination cloudwatch"),
        ("{to: none, retention: 14 days}", "monitoring.metrics.retention", "LF1152", "destination cloudwatch"),
        (f"{{to: prometheus, workspace: '{ARN.replace('us-west-2', 'eu-west-1')}'}}", "monitoring.metrics.workspace",
         "LF1153", "write a workspace in us-west-2"),
        ("datadog", "monitoring.metrics.to", "LF114", "cloudwatch"),
    ],
)  # fmt: skip
def test_each_error_is_reported_at_its_key(metrics: str, where: str, code: str, remedy: str) -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(fleet(metrics))
    (problem,) = caught.value.problems
    assert (".".join(map(str, problem.path)), problem.code.value) == (where, code)
    assert remedy in f"{problem.remedy} {problem.allowed}"


def test_the_short_form_is_equivalent_to_the_long_form() -> None:
    short, long = (parse_fleet(fleet(text)).monitoring for text in ("cloudwatch", "{to: cloudwatch}"))
    assert short == long


def test_a_closed_network_has_the_endpoint_of_prometheus_if_nodes_write_to_it() -> None:
    assert EndpointFeature.METRICS in endpoint_features(parse_fleet(fleet("prometheus")))
    assert EndpointFeature.METRICS not in endpoint_features(parse_fleet(fleet("cloudwatch")))


@pytest.mark.parametrize("given", ["cloudwatch", 7, True])
def test_the_description_is_validated(given: Any) -> None:
    groups = [InstanceGroup.controller("ml.m5.xlarge")]
    with pytest.raises(FleetError, match="LF113"):
        HyperPodClusterSpec(groups=groups, metrics=given)


def test_the_log_group_is_created_before_the_nodes_and_they_can_write_to_it(stack: cdk.Stack) -> None:
    HyperPodCluster(
        stack,
        "Cluster",
        HyperPodClusterSpec(
            groups=[InstanceGroup.controller("ml.m5.xlarge")],
            cluster_name="train",
            metrics=ClusterMetrics.cloudwatch(retention_days=30),
        ),
        network=None,
    )
    template = Template.from_stack(stack)
    (log,) = template.find_resources(
        "AWS::Logs::LogGroup",
        {"Properties": {"LogGroupName": "/llm-fleet/metrics/train", "RetentionInDays": 30}, "DeletionPolicy": "Delete"},
    )
    (cluster,) = template.find_resources("AWS::SageMaker::Cluster").values()
    assert log in cluster["DependsOn"]
    policies = template.find_resources("AWS::IAM::ManagedPolicy").values()
    statements = [one for policy in policies for one in policy["Properties"]["PolicyDocument"]["Statement"]]
    (statement,) = [one for one in statements if one.get("Sid") == "MetricsLog"]
    assert statement["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert statement["Resource"] == "arn:aws:logs:us-west-2:111122223333:log-group:/llm-fleet/metrics/train:*"


def test_a_prometheus_workspace_is_retained_and_nodes_can_only_write_to_it(app: cdk.App) -> None:
    stacks = FleetStacks.make(app, parse_fleet(fleet("{to: prometheus, grafana: true}")), account="111122223333")
    assert stacks.metrics is not None
    assert nag_findings(app) == []
    template = Template.from_stack(stacks.metrics)
    template.has_resource(
        "AWS::APS::Workspace",
        {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": {"KmsKeyArn": Match.any_value()}},
    )
    template.has_resource_properties("AWS::Grafana::Workspace", {"AuthenticationProviders": ["AWS_SSO"]})
    cluster = Template.from_stack(stacks.clusters["train"])
    policies = cluster.find_resources("AWS::IAM::ManagedPolicy").values()
    statements = [one for policy in policies for one in policy["Properties"]["PolicyDocument"]["Statement"]]
    (statement,) = [one for one in statements if one.get("Sid") == "Metrics"]
    assert statement["Action"] == "aps:RemoteWrite"
    assert statement["Resource"]["Fn::ImportValue"].startswith("metrics-metrics:")
    cluster.resource_properties_count_is("AWS::Logs::LogGroup", {"LogGroupName": "/llm-fleet/metrics/train"}, 0)


def test_the_generated_dashboard_of_grafana_is_up_to_date() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        DASHBOARD.write_text(json.dumps(grafana_dashboard(), indent=2) + "\n", encoding="utf-8")
    assert json.loads(DASHBOARD.read_text(encoding="utf-8")) == grafana_dashboard()
    titles = [panel["title"] for panel in grafana_dashboard()["panels"]]
    assert set(titles) >= {metric.name for metric in cluster_metrics().values()}
    panels = [panel["gridPos"] for panel in grafana_dashboard()["panels"]]
    cells = [(place["x"] + x, place["y"] + y) for place in panels for x in range(place["w"]) for y in range(place["h"])]
    assert len(cells) == len(set(cells)), "no panel overlaps another"


def test_the_docs_page_lists_every_metric() -> None:
    page = Path(ROOT / "docs" / "constructs" / "cluster-metrics.md").read_text(encoding="utf-8")
    assert [metric.name for metric in cluster_metrics().values() if f"`{metric.name}`" not in page] == []
